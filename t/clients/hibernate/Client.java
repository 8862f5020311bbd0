// Run by t/clients/drivers.pl: rows by Hibernate. The arguments are the server's URL and the user.
import javax.persistence.Entity;
import javax.persistence.GeneratedValue;
import javax.persistence.GenerationType;
import javax.persistence.Id;
import javax.persistence.Table;
import org.hibernate.Session;
import org.hibernate.SessionFactory;
import org.hibernate.cfg.Configuration;

public class Client {
    @Entity
    @Table(name = "orders")
    public static class Order {
        @Id
        @GeneratedValue(strategy = GenerationType.IDENTITY)
        public Long id;
        public String customer;
    }

    public static void main(String[] arguments) {
        SessionFactory factory = new Configuration()
            .addAnnotatedClass(Order.class)
            .setProperty("hibernate.connection.driver_class", "org.postgresql.Driver")
            .setProperty("hibernate.connection.url", arguments[0])
            .setProperty("hibernate.connection.username", arguments[1])
            .setProperty("hibernate.dialect", "org.hibernate.dialect.PostgreSQLDialect")
            .buildSessionFactory();
        Session session = factory.openSession();
        session.beginTransaction();
        Order order = new Order();
        order.customer = "Ada";
        session.save(order);
        System.out.println("version\t" + org.hibernate.Version.getVersionString());
        System.out.println("created\t" + order.id);
        System.out.println("type\t" + order.id.getClass().getSimpleName());
        Order exact = (Order) session.get(Order.class, 4032112536055714817L);
        System.out.println("exact\t" + exact.id);
        session.getTransaction().commit();
        session.close();
        factory.close();
    }
}
