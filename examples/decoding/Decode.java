// The parts of an id, and the id of a text. As a program it does the same as decode.py.
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Locale;

class Decode {
    record Parts(Instant time, long shard, long sequence) {}

    static Parts decode(long id, Instant epoch, int shardBits, int sequenceBits) {
        return new Parts(epoch.plusMillis(id >>> shardBits + sequenceBits), // ids of later years are negative
                         id >>> sequenceBits & (1L << shardBits) - 1, id & (1L << sequenceBits) - 1);
    }

    static long idFromText(String text) {
        if (!text.matches("[0-9A-Fa-fILOilo][0-9A-TV-Za-tv-z]{12}")) throw new IllegalArgumentException(text);
        long id = 0;
        for (char c : text.toUpperCase(Locale.ROOT).replace('O', '0').replace('I', '1').replace('L', '1').toCharArray())
            id = id << 5 | "0123456789ABCDEFGHJKMNPQRSTVWXYZ".indexOf(c);
        return id;
    }

    static String answer(String... words) {
        if (words[0].equals("text")) {
            try {
                return Long.toString(idFromText(words[1]));
            } catch (IllegalArgumentException refused) {
                return "refused";
            }
        }
        Parts parts = decode(Long.parseLong(words[4]), Instant.parse(words[1]), Integer.parseInt(words[2]), Integer.parseInt(words[3]));
        String time = DateTimeFormatter.ofPattern("uuuu-MM-dd'T'HH:mm:ss.SSSX").withZone(ZoneOffset.UTC).format(parts.time());
        return time + "\t" + parts.shard() + "\t" + parts.sequence();
    }

    public static void main(String[] args) throws IOException {
        BufferedReader questions = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        StringBuilder answers = new StringBuilder();
        for (String line; (line = questions.readLine()) != null; )
            answers.append(answer(line.split("\t", -1))).append("\n");
        System.out.print(answers);
    }
}
