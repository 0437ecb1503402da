import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Types;

/** A session of the JDBC driver of Flight SQL; what it prints is compared. */
public final class Session {
  public static void main(String[] arguments) throws SQLException {
    String url = "jdbc:arrow-flight-sql://" + arguments[0] + "?useEncryption=false&user=any&password=thing";
    try (Connection connection = DriverManager.getConnection(url)) {
      update(connection);
      query(connection);
      describe(connection.getMetaData());
    }
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
