import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Properties;

/** The JDBC driver of Flight SQL with its default, which is TLS: with a token, a client certificate, and neither. */
public final class TlsSession {
  public static void main(String[] arguments) {
    String folder = arguments[1];
    Properties token = new Properties();
    token.put("user", "anyone");
    token.put("password", System.getenv("SVC_TOKEN"));
    Properties certificate = new Properties();
    certificate.put("clientCertificate", folder + "/cert.pem");
    certificate.put("clientKey", folder + "/key.pem");
    ask("token", arguments[0], folder, token);
    ask("certificate", arguments[0], folder, certificate);
    ask("nothing", arguments[0], folder, new Properties());
  }

  static void ask(String name, String address, String folder, Properties properties) {
    String url = "jdbc:arrow-flight-sql://" + address + "?tlsRootCerts=" + folder + "/ca.pem";
    try (Connection connection = DriverManager.getConnection(url, properties);
        Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery("SELECT 40 + 2")) {
      while (rows.next()) System.out.println(name + " " + rows.getLong(1));
    } catch (SQLException error) {
      System.out.println(name + " " + error.getMessage().replaceAll("(?s).*?(The request has no credentials).*", "$1"));
    }
  }
}
