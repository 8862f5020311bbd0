import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;
import java.util.OptionalLong;

/** The same as driver.py. */
final class Driver {
    private static String text(String hex) {
        return new String(HexFormat.of().parseHex(hex), StandardCharsets.UTF_8);
    }

    private static String answer(Map<Integer, byte[]> keys, String[] fields) throws Exception {
        if (fields[0].equals("decode")) {
            OptionalLong id = new PublicIds(keys, 0).decode(text(fields[2]), text(fields[3]));
            return id.isPresent() ? Long.toString(id.getAsLong()) : "null";
        }
        try {
            return new PublicIds(keys, Integer.parseInt(fields[1])).encode(text(fields[2]), Long.parseLong(fields[3]));
        } catch (IllegalArgumentException e) {
            return "refused";
        }
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        Map<Integer, byte[]> keys = new HashMap<>();
        for (String key : lines.readLine().split(" ")) {
            keys.put(Integer.parseInt(key.substring(0, 1)), HexFormat.of().parseHex(key.substring(2)));
        }
        for (String line; (line = lines.readLine()) != null; ) {
            System.out.println(answer(keys, line.split("\t", -1)));
        }
    }
}
