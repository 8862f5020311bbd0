// Run by t/clients/drivers.pl: rows by the JDBC driver. The argument is the server's URL.
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;

public class Client {
    static void say(String name, Object... values) {
        StringBuilder line = new StringBuilder(name);
        for (Object value : values)
            line.append('\t').append(value);
        System.out.println(line);
    }

    public static void main(String[] arguments) throws SQLException {
        try (Connection connection = DriverManager.getConnection(arguments[0])) {
            say("version", connection.getMetaData().getDriverVersion());
            String sql = "INSERT INTO orders (customer) VALUES (?)";
            try (PreparedStatement insert = connection.prepareStatement(sql, new String[] {"id"})) {
                insert.setString(1, "Ada");
                insert.executeUpdate();
                try (ResultSet keys = insert.getGeneratedKeys()) {
                    keys.next();
                    long id = keys.getLong(1);
                    say("created", id);
                    say("type", keys.getObject(1).getClass().getSimpleName());
                }
            }
            try (PreparedStatement insert = connection.prepareStatement(sql, new String[] {"id"})) {
                for (String customer : new String[] {"Ada", "Grace"}) {
                    insert.setString(1, customer);
                    insert.addBatch();
                }
                insert.executeBatch();
                try (ResultSet keys = insert.getGeneratedKeys()) {
                    keys.next();
                    long first = keys.getLong(1);
                    keys.next();
                    say("several", first, keys.getLong(1));
                }
            }
            try (ResultSet row = connection.createStatement().executeQuery("SELECT id FROM orders WHERE customer = 'exact'")) {
                row.next();
                say("exact", row.getLong(1));
            }
        }
    }
}
