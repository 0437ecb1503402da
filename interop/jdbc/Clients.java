import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Timestamp;
import java.sql.Types;
import java.util.List;
import java.util.SortedSet;
import java.util.TreeSet;

/** What works with the JDBC driver: each line of its output is a row of the table in docs/clients.md. */
public final class Clients {
  interface Step {
    void run() throws SQLException;
  }

  public static void main(String[] arguments) throws SQLException {
    String url = "jdbc:arrow-flight-sql://" + arguments[0] + "?useEncryption=false";
    try (Connection connection = DriverManager.getConnection(url)) {
      works("queries and parameters", () -> query(connection));
      works("`CREATE TABLE`, `INSERT`, `DROP TABLE`", () -> statements(connection));
      works("batches: `addBatch` and `executeBatch`", () -> batches(connection));
      works("`DatabaseMetaData`, and `ResultSetMetaData` with type names, precision and scale", () -> metadata(connection));
      works("the calls of database tools: every method of `DatabaseMetaData` that the driver has, `isValid`, `setMaxRows`, `execute`", () -> tools(connection));
      lacks("whether changes are visible or detected, in `DatabaseMetaData`: the driver does not implement it", () -> equal(failures(connection), NOT_IMPLEMENTED));
      lacks("transactions: each statement is committed by itself", () -> {
        if (connection.getMetaData().supportsTransactions()) throw new SQLException("There are transactions.");
      });
      lacks("microseconds of `setTimestamp`: bind a string and cast it", () -> microseconds(connection));
    }
  }

  static void works(String what, Step step) throws SQLException {
    step.run();
    System.out.println("works " + what);
  }

  static void lacks(String what, Step step) throws SQLException {
    step.run();
    System.out.println("lacks " + what);
  }

  static void query(Connection connection) throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement("SELECT ?::BIGINT + 1, ?::VARCHAR")) {
      statement.setLong(1, 41);
      statement.setString(2, "a");
      try (ResultSet rows = statement.executeQuery()) {
        rows.next();
        equal(rows.getLong(1) + rows.getString(2), "42a");
      }
    }
  }

  static void statements(Connection connection) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      equal(statement.executeUpdate("DROP TABLE IF EXISTS jdbc_s"), 0);
      equal(statement.executeUpdate("CREATE TABLE jdbc_s (id BIGINT NOT NULL, name VARCHAR(20))"), 0);
      equal(statement.executeUpdate("INSERT INTO jdbc_s VALUES (1, 'a'), (2, NULL)"), 2);
      equal(count(connection, "jdbc_s"), 2L);
      equal(statement.executeUpdate("DROP TABLE jdbc_s"), 0);
    }
  }

  static void batches(Connection connection) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.executeUpdate("CREATE OR REPLACE TABLE jdbc_b (id BIGINT, name VARCHAR, price DECIMAL(10,2), moment TIMESTAMP, ok BOOLEAN)");
    }
    try (PreparedStatement statement = connection.prepareStatement("INSERT INTO jdbc_b VALUES (?, ?, ?, ?, ?)")) {
      for (int i = 0; i < 1000; i++) {
        statement.setLong(1, i);
        if (i == 7) statement.setNull(2, Types.VARCHAR);
        else statement.setString(2, "n" + i);
        statement.setBigDecimal(3, new BigDecimal("1.50"));
        statement.setTimestamp(4, Timestamp.valueOf("2024-01-02 03:04:05.678"));
        statement.setBoolean(5, i % 2 == 0);
        statement.addBatch();
      }
      statement.executeBatch();
    }
    try (Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery(
            "SELECT count(*), count(name), sum(price)::VARCHAR, max(moment)::VARCHAR, count_if(ok) FROM jdbc_b")) {
      rows.next();
      String row = rows.getLong(1) + " " + rows.getLong(2) + " " + rows.getString(3) + " " + rows.getString(4) + " " + rows.getLong(5);
      equal(row, "1000 999 1500.00 2024-01-02 03:04:05.678 500");
    }
  }

  static void metadata(Connection connection) throws SQLException {
    DatabaseMetaData data = connection.getMetaData();
    equal(data.getDatabaseProductName(), "Data-frame server (DuckDB)");
    try (ResultSet columns = data.getColumns(null, null, "jdbc_b", "price")) {
      columns.next();
      equal(columns.getString("TYPE_NAME") + columns.getInt("COLUMN_SIZE") + "," + columns.getInt("DECIMAL_DIGITS"), "DECIMAL10,2");
    }
    try (Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery("SELECT id, price FROM jdbc_b LIMIT 1")) {
      ResultSetMetaData result = rows.getMetaData();
      equal(result.getPrecision(2) + "," + result.getScale(2), "10,2");
      equal(result.getColumnTypeName(1), "BIGINT");
    }
  }

  /** What a tool calls to show a database and the start of a table. */
  static void tools(Connection connection) throws SQLException {
    equal(connection.isValid(5), true);
    equal(connection.isClosed(), false);
    connection.clearWarnings();
    equal(connection.getMetaData().getDefaultTransactionIsolation(), Connection.TRANSACTION_NONE);
    try (Statement statement = connection.createStatement(ResultSet.TYPE_FORWARD_ONLY, ResultSet.CONCUR_READ_ONLY)) {
      statement.setMaxRows(200);
      statement.setFetchSize(200);
      statement.setQueryTimeout(10);
      equal(statement.execute("SELECT * FROM jdbc_b"), true);
      equal(statement.getUpdateCount(), -1);
      try (ResultSet rows = statement.getResultSet()) {
        int count = 0;
        while (rows.next()) count++;
        equal(count, 200);
      }
      equal(statement.getMoreResults(), false);
      equal(statement.getWarnings() == null, true);
    }
    // Each other method returns, and its rows can be read.
    SortedSet<String> failures = failures(connection);
    failures.removeAll(NOT_IMPLEMENTED);
    equal(failures, new TreeSet<>());
  }

  static final SortedSet<String> NOT_IMPLEMENTED = new TreeSet<>(List.of(
      "deletesAreDetected", "insertsAreDetected", "updatesAreDetected",
      "othersDeletesAreVisible", "othersInsertsAreVisible", "othersUpdatesAreVisible",
      "ownDeletesAreVisible", "ownInsertsAreVisible", "ownUpdatesAreVisible", "supportsResultSetHoldability"));

  /** Calls every method of the metadata; returns the names of those that throw. */
  static SortedSet<String> failures(Connection connection) throws SQLException {
    DatabaseMetaData data = connection.getMetaData();
    SortedSet<String> names = new TreeSet<>();
    for (Method method : DatabaseMetaData.class.getDeclaredMethods()) {
      if (Modifier.isStatic(method.getModifiers()) || method.isSynthetic()) continue;
      try {
        if (method.invoke(data, argumentsOf(method)) instanceof ResultSet rows) {
          while (rows.next());
          rows.close();
        }
      } catch (InvocationTargetException error) {
        names.add(method.getName());
      } catch (IllegalAccessException error) {
        throw new SQLException(error);
      }
    }
    return names;
  }

  /** A table where its name is due, valid numbers, and no other conditions. */
  static Object[] argumentsOf(Method method) {
    Class<?>[] types = method.getParameterTypes();
    Object[] values = new Object[types.length];
    for (int i = 0; i < types.length; i++) {
      if (types[i] == boolean.class) values[i] = false;
      if (types[i] == int.class) values[i] = switch (method.getName()) {
        case "supportsConvert" -> Types.INTEGER;
        case "supportsTransactionIsolationLevel" -> Connection.TRANSACTION_NONE;
        default -> ResultSet.TYPE_FORWARD_ONLY;
      };
      if (types[i] == String.class && (i == 2 || i == 5)) values[i] = "jdbc_b";
    }
    return values;
  }

  static void microseconds(Connection connection) throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement("SELECT v::VARCHAR FROM (SELECT ?::TIMESTAMP AS v)")) {
      statement.setTimestamp(1, Timestamp.valueOf("2024-01-02 03:04:05.678912"));
      try (ResultSet rows = statement.executeQuery()) {
        rows.next();
        equal(rows.getString(1), "2024-01-02 03:04:05.678");
      }
    }
  }

  static long count(Connection connection, String table) throws SQLException {
    try (Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery("SELECT count(*) FROM " + table)) {
      rows.next();
      return rows.getLong(1);
    }
  }

  static void equal(Object found, Object expected) throws SQLException {
    if (!found.equals(expected)) throw new SQLException("Expected " + expected + ", found " + found + ".");
  }
}
