import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.util.Arrays;
import java.util.Map;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.crypto.Cipher;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** Public ids as in contrib/public_ids/public_ids.sql, see contrib/public_ids/README.md. */
public final class PublicIds {
    private static final String ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";
    private static final Pattern KIND = Pattern.compile("[a-z][a-z0-9_]{0,62}");
    private static final Pattern TEXT = Pattern.compile("([a-z][a-z0-9_]{0,62})_([0-9a-hjkmnp-tv-z]{26})");

    private final Map<Integer, byte[]> keys;
    private final int current;

    /** The 32 bytes of each key by its number, and the number of the key for new texts. */
    public PublicIds(Map<Integer, byte[]> keys, int current) {
        this.keys = keys;
        this.current = current;
    }

    private byte[] aes(int mode, int number, String kind, byte[] block) throws GeneralSecurityException {
        Mac mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(keys.get(number), "HmacSHA256"));
        byte[] key = mac.doFinal(("shardid public id 1:" + kind).getBytes(StandardCharsets.UTF_8));
        Cipher cipher = Cipher.getInstance("AES/ECB/NoPadding");
        cipher.init(mode, new SecretKeySpec(key, 0, 16, "AES"));
        return cipher.doFinal(block);
    }

    public String encode(String kind, long id) throws GeneralSecurityException {
        if (!KIND.matcher(kind).matches()) {
            throw new IllegalArgumentException("invalid kind of a public id: " + kind);
        }
        byte[] block = aes(Cipher.ENCRYPT_MODE, current, kind, ByteBuffer.allocate(16).putLong(id).array());
        BigInteger bits = new BigInteger(1, block).or(BigInteger.valueOf(current).shiftLeft(128));
        StringBuilder text = new StringBuilder(kind).append('_');
        for (int shift = 125; shift >= 0; shift -= 5) {
            text.append(ALPHABET.charAt(bits.shiftRight(shift).intValue() & 31));
        }
        return text.toString();
    }

    /** Empty if the text is no public id of this kind. */
    public OptionalLong decode(String kind, String text) throws GeneralSecurityException {
        Matcher match = TEXT.matcher(text);
        if (!match.matches() || !match.group(1).equals(kind)) {
            return OptionalLong.empty();
        }
        // A 1 above the 130 bits keeps the length of the bytes.
        BigInteger bits = BigInteger.ONE;
        for (char digit : match.group(2).toCharArray()) {
            bits = bits.shiftLeft(5).or(BigInteger.valueOf(ALPHABET.indexOf(digit)));
        }
        byte[] packed = bits.toByteArray();
        int number = packed[0] & 3;
        if (!keys.containsKey(number)) {
            return OptionalLong.empty();
        }
        ByteBuffer plain = ByteBuffer.wrap(aes(Cipher.DECRYPT_MODE, number, kind, Arrays.copyOfRange(packed, 1, 17)));
        return plain.getLong(8) == 0 ? OptionalLong.of(plain.getLong(0)) : OptionalLong.empty();
    }
}
