// The parts of an id, and the id of a text. As a program it does the same as decode.py.
using System;
using System.IO;
using System.Text.RegularExpressions;

static class Ids {
    public static (DateTimeOffset, ulong, ulong) Decode(long id, DateTimeOffset epoch, int shardBits, int sequenceBits) {
        ulong bits = unchecked((ulong) id); // ids of later years are negative
        return (epoch + TimeSpan.FromTicks((long) (bits >> shardBits + sequenceBits) * TimeSpan.TicksPerMillisecond),
                bits >> sequenceBits & (1UL << shardBits) - 1, bits & (1UL << sequenceBits) - 1);
    }

    public static long FromText(string text) {
        if (!Regex.IsMatch(text, @"\A[0-9A-Fa-fILOilo][0-9A-TV-Za-tv-z]{12}\z")) throw new FormatException(text);
        ulong id = 0;
        foreach (char c in text.ToUpperInvariant().Replace('O', '0').Replace('I', '1').Replace('L', '1'))
            id = id << 5 | (ulong) "0123456789ABCDEFGHJKMNPQRSTVWXYZ".IndexOf(c);
        return unchecked((long) id);
    }
}

static class Program {
    static string Answer(string[] words) {
        if (words[0] == "text") {
            try {
                return Ids.FromText(words[1]).ToString();
            } catch (FormatException) {
                return "refused";
            }
        }
        var (time, shard, sequence) = Ids.Decode(long.Parse(words[4]), DateTimeOffset.Parse(words[1]), int.Parse(words[2]), int.Parse(words[3]));
        return $"{time:yyyy-MM-ddTHH:mm:ss.fffZ}\t{shard}\t{sequence}";
    }

    static void Main() {
        using (var questions = new StreamReader(Console.OpenStandardInput()))
            for (string line; (line = questions.ReadLine()) != null; )
                Console.WriteLine(Answer(line.Split('\t')));
    }
}
