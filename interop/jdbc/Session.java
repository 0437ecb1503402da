import java.sql.Connection;
import java.sql.Date;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Time;
import java.sql.Timestamp;
import java.sql.Types;
import org.apache.arrow.driver.jdbc.shaded.org.apache.arrow.flight.FlightClient;
import org.apache.arrow.driver.jdbc.shaded.org.apache.arrow.flight.Location;
import org.apache.arrow.driver.jdbc.shaded.org.apache.arrow.flight.sql.FlightSqlClient;
import org.apache.arrow.driver.jdbc.shaded.org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.driver.jdbc.shaded.org.apache.arrow.memory.RootAllocator;

/** A session of the JDBC driver of Flight SQL, and one of the client inside of it; what they print is compared. */
public final class Session {
  public static void main(String[] arguments) throws Exception {
    String url = "jdbc:arrow-flight-sql://" + arguments[0] + "?useEncryption=false&user=any&password=thing";
    try (Connection connection = DriverManager.getConnection(url)) {
      update(connection);
      query(connection);
      bindTimes(connection);
      describe(connection.getMetaData());
    }
    updateWithoutJdbc(arguments[0]);
  }

  static void update(Connection connection) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      String select = "SELECT range AS id, 'n' || range AS name, TIMESTAMP '2024-01-02 03:04:05' AS at FROM range(5)";
      System.out.println(statement.executeUpdate("CREATE OR REPLACE TABLE jdbc_kept AS " + select) + " rows kept");
    }
  }

  static void query(Connection connection) throws SQLException {
    try (Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery("SELECT * FROM jdbc_kept ORDER BY id LIMIT 2")) {
      while (rows.next()) {
        System.out.println(rows.getLong("id") + " " + rows.getString("name") + " " + rows.getTimestamp("at"));
      }
    }
    try (PreparedStatement statement = connection.prepareStatement("SELECT name FROM jdbc_kept WHERE id = ?")) {
      for (long id = 3; id < 5; id++) {
        statement.setLong(1, id);
        try (ResultSet rows = statement.executeQuery()) {
          while (rows.next()) System.out.println("bound " + rows.getString(1));
        }
      }
    }
    try (PreparedStatement statement = connection.prepareStatement("SELECT ? AS v")) {
      statement.setString(1, "hello");
      try (ResultSet rows = statement.executeQuery()) {
        while (rows.next()) System.out.println("of no type " + rows.getString(1));
      }
    }
    try (Statement statement = connection.createStatement()) {
      statement.executeQuery("SELECT * FROM nope").close();
    } catch (SQLException error) {
      System.out.println(error.getMessage());
    }
  }

  /** What SQL gets of dates and times: the driver writes milliseconds, whatever unit the parameter has. */
  static void bindTimes(Connection connection) throws SQLException {
    String[] moments = {"2024-01-02 03:04:05.678", "2024-01-02 03:04:05.678912345", "1969-12-31 23:59:59.999", "0001-01-01 00:00:00"};
    for (String moment : moments) bind(connection, "?::TIMESTAMP", Timestamp.valueOf(moment));
    bind(connection, "?::TIMESTAMPTZ", Timestamp.valueOf(moments[0]));
    bind(connection, "?::TIMESTAMP_NS", Timestamp.valueOf(moments[0]));
    bind(connection, "?::TIME", Time.valueOf("03:04:05"));
    bind(connection, "?::TIME", new Time(12_345_678));
    bind(connection, "?::DATE", Date.valueOf("2024-01-02"));
    bind(connection, "?::DATE", Date.valueOf("1969-12-31"));
    for (String type : new String[] {"TIMESTAMP", "TIME", "DATE"}) bind(connection, "?::" + type, null);
    try (PreparedStatement statement = connection.prepareStatement("SELECT count(*) FROM jdbc_kept WHERE \"at\" = ?")) {
      statement.setTimestamp(1, Timestamp.valueOf("2024-01-02 03:04:05"));
      try (ResultSet rows = statement.executeQuery()) {
        while (rows.next()) System.out.println("equal " + rows.getLong(1));
      }
    }
  }

  static void bind(Connection connection, String parameter, Object value) throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement("SELECT v::VARCHAR FROM (SELECT " + parameter + " AS v)")) {
      if (value == null) statement.setNull(1, Types.TIMESTAMP);
      else if (value instanceof Timestamp timestamp) statement.setTimestamp(1, timestamp);
      else if (value instanceof Time time) statement.setTime(1, time);
      else statement.setDate(1, (Date) value);
      try (ResultSet rows = statement.executeQuery()) {
        while (rows.next()) System.out.println(parameter + " " + rows.getString(1));
      }
    } catch (SQLException error) {
      System.out.println(parameter + " " + error.getMessage());
    }
  }

  /** This client reads the result of an update before it ends its side of the call. */
  static void updateWithoutJdbc(String address) throws Exception {
    String[] parts = address.split(":");
    Location location = Location.forGrpcInsecure(parts[0], Integer.parseInt(parts[1]));
    try (BufferAllocator allocator = new RootAllocator();
        FlightSqlClient client = new FlightSqlClient(FlightClient.builder(allocator, location).build())) {
      System.out.println(client.executeUpdate("CREATE OR REPLACE TABLE java_kept AS FROM range(3)") + " rows made");
      try (FlightSqlClient.PreparedStatement statement = client.prepare("DROP TABLE java_kept")) {
        System.out.println(statement.executeUpdate() + " rows left");
      }
    }
  }

  static void describe(DatabaseMetaData data) throws SQLException {
    System.out.println(data.getDatabaseProductName() + " " + data.isReadOnly() + " " + data.supportsTransactions());
    System.out.println(data.getNumericFunctions().startsWith("ABS") + " " + data.supportsConvert(Types.INTEGER, Types.VARCHAR));
    print(data.getCatalogs(), "TABLE_CAT");
    print(data.getSchemas(), "TABLE_SCHEM");
    print(data.getTableTypes(), "TABLE_TYPE");
    print(data.getTables(null, null, "jdbc\\_%", null), "TABLE_CAT", "TABLE_SCHEM", "TABLE_NAME", "TABLE_TYPE");
    print(data.getColumns(null, null, "jdbc_kept", null), "COLUMN_NAME", "TYPE_NAME");
    print(data.getPrimaryKeys(null, null, "jdbc_kept"), "COLUMN_NAME");
  }

  static void print(ResultSet rows, String... columns) throws SQLException {
    try (rows) {
      while (rows.next()) {
        StringBuilder line = new StringBuilder("-");
        for (String column : columns) line.append(' ').append(rows.getString(column));
        System.out.println(line);
      }
    }
  }
}
