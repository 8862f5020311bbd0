#include "engine/lease.h"

namespace shardid {

const char *version_of_engine() {
    return library_version;
}

uint32 form_of_engine() {
    return library_form;
}

// A placeholder, which a session may have set before the library is loaded, has no unit.
void refuse_second_copy(const char *library, const char *setting) {
    if ((GetConfigOptionFlags(setting, true) & GUC_UNIT_TIME) != GUC_UNIT_MS)
        return;
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("library \"%s\" is loaded already, from another file", library),
                    errhint("Connect again. If there are two files of it in the directories of "
                            "dynamic_library_path, remove one of them.")));
}

}  // namespace shardid
