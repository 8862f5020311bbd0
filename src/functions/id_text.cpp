// The SQL functions that write an id as short text, and read that.
#include "core/forms.hpp"

#include "engine/arguments.h"

namespace shardid {

namespace {

// The text is shown whole: a part of it might end within a character, which a server whose encoding
// is SQL_ASCII cannot tell and a client's encoding then refuses.
[[noreturn]] pg_attribute_cold void refuse_text(const text *argument,
                                                const Base32Reading &reading) {
    const char *shown = text_to_cstring(argument);
    const int good = static_cast<int>(reading.good);
    const bool is_character = reading.fault == Base32Fault::character;
    const bool is_size = reading.fault == Base32Fault::size;
    ereport(
        ERROR,
        (errcode(ERRCODE_INVALID_TEXT_REPRESENTATION), errmsg("invalid text for an id"),
         is_character ? errdetail("The text is \"%s\", whose character %d is no digit of base 32.",
                                  shown, good + 1)
         : is_size    ? errdetail("The text is \"%s\", whose length is %d.", shown, good)
                      : errdetail("The text is \"%s\", which is more than 64 bits hold.", shown),
         is_character ? errhint("Pass a result of id_to_text: digits and Latin letters but U, "
                                "without spaces or hyphens.")
         : is_size ? errhint("Pass a result of id_to_text, which has %d characters.", base32_size)
                   : errhint("Pass a result of id_to_text, which begins with 0 to F.")));
}

}  // namespace

extern "C" {

// ASCII is the same in every server encoding.
PG_FUNCTION_INFO_V1(shardid_id_to_text);
Datum shardid_id_to_text(PG_FUNCTION_ARGS) {
    const Base32Text text = base32_of(static_cast<uint64>(PG_GETARG_INT64(0)));
    PG_RETURN_TEXT_P(cstring_to_text_with_len(text.character, base32_size));
}

PG_FUNCTION_INFO_V1(shardid_id_from_text);
Datum shardid_id_from_text(PG_FUNCTION_ARGS) {
    const text *argument = PG_GETARG_TEXT_PP(0);
    const Base32Reading reading = read_base32(VARDATA_ANY(argument), VARSIZE_ANY_EXHDR(argument));
    if (reading.fault != Base32Fault::none)
        refuse_text(argument, reading);
    PG_RETURN_INT64(static_cast<int64>(reading.number));
}

}  // extern "C"

}  // namespace shardid
