import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.arrow.flight.CallStatus;
import org.apache.arrow.flight.FlightClient;
import org.apache.arrow.flight.FlightEndpoint;
import org.apache.arrow.flight.FlightInfo;
import org.apache.arrow.flight.FlightRuntimeException;
import org.apache.arrow.flight.FlightStatusCode;
import org.apache.arrow.flight.FlightStream;
import org.apache.arrow.flight.Location;
import org.apache.arrow.flight.sql.FlightSqlClient;
import org.apache.arrow.flight.sql.FlightSqlClient.ExecuteIngestOptions;
import org.apache.arrow.flight.sql.FlightSqlClient.PreparedStatement;
import org.apache.arrow.flight.sql.impl.FlightSql.CommandStatementIngest.TableDefinitionOptions;
import org.apache.arrow.flight.sql.impl.FlightSql.CommandStatementIngest.TableDefinitionOptions.TableExistsOption;
import org.apache.arrow.flight.sql.impl.FlightSql.CommandStatementIngest.TableDefinitionOptions.TableNotExistOption;
import org.apache.arrow.flight.sql.impl.FlightSql.SqlInfo;
import org.apache.arrow.flight.sql.util.TableRef;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.BigIntVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.TimeStampMicroVector;
import org.apache.arrow.vector.VarCharVector;
import org.apache.arrow.vector.VectorSchemaRoot;

/** What works with the Flight SQL client of Arrow Java: each line of its output is a row of the table in docs/clients.md. */
public final class JavaClients {
  interface Step {
    void run() throws Exception;
  }

  private final BufferAllocator allocator;
  private final FlightSqlClient client;

  JavaClients(BufferAllocator allocator, FlightSqlClient client) {
    this.allocator = allocator;
    this.client = client;
  }

  public static void main(String[] arguments) throws Exception {
    String[] parts = arguments[0].split(":");
    Location location = Location.forGrpcInsecure(parts[0], Integer.parseInt(parts[1]));
    // Closing the allocator fails if a buffer is left.
    try (BufferAllocator allocator = new RootAllocator();
        FlightSqlClient client = new FlightSqlClient(FlightClient.builder(allocator, location).build())) {
      new JavaClients(allocator, client).run();
    }
  }

  void run() throws Exception {
    works("queries, with prepared parameters", this::queries);
    works("`CREATE TABLE`, `INSERT`, `DROP TABLE`; many bound rows in one append", this::updates);
    works("`executeIngest`: create, append, replace", this::ingest);
    works("metadata: catalogs, schemas, tables, columns, types, keys, `getSqlInfo`", this::metadata);
    works("errors, with their status", this::errors);
    lacks("transactions: each statement is committed by itself", () -> fails(FlightStatusCode.UNIMPLEMENTED, "BeginTransaction", client::beginTransaction));
  }

  static void works(String what, Step step) throws Exception {
    step.run();
    System.out.println("works " + what);
  }

  static void lacks(String what, Step step) throws Exception {
    step.run();
    System.out.println("lacks " + what);
  }

  void queries() throws Exception {
    equal(rows(client.execute("SELECT range AS id, 'n' || range AS name FROM range(3)")), "0 n0, 1 n1, 2 n2");
    equal(rows(client.execute("SELECT range FROM range(100000)")).split(", ").length, 100_000);
    equal(client.getExecuteSchema("SELECT 1 AS one").getSchema().getFields().get(0).getName(), "one");
    try (PreparedStatement statement = client.prepare("SELECT ?::BIGINT + 1, ?::VARCHAR");
        VectorSchemaRoot parameters = VectorSchemaRoot.create(statement.getParameterSchema(), allocator)) {
      equal(statement.getResultSetSchema().getFields().size(), 2);
      for (long value : new long[] {41, 99}) {
        ((BigIntVector) parameters.getVector(0)).setSafe(0, value);
        ((VarCharVector) parameters.getVector(1)).setSafe(0, ("of " + value).getBytes(UTF_8));
        parameters.setRowCount(1);
        statement.setParameters(parameters);
        equal(rows(statement.execute()), (value + 1) + " of " + value);
      }
    }
  }

  void updates() throws Exception {
    client.executeUpdate("DROP TABLE IF EXISTS java_t");
    equal(client.executeUpdate("CREATE TABLE java_t (id BIGINT, name VARCHAR, moment TIMESTAMP)"), 0L);
    equal(client.executeUpdate("INSERT INTO java_t VALUES (-1, NULL, NULL)"), 1L);
    try (PreparedStatement statement = client.prepare("INSERT INTO java_t VALUES (?, ?, ?)");
        VectorSchemaRoot rows = threeColumns(1000)) {
      statement.setParameters(rows);
      equal(statement.executeUpdate(), 1000L);
    }
    equal(rows(client.execute("SELECT count(*), count(name), max(moment)::VARCHAR FROM java_t")), "1001 1000 2024-01-02 03:04:05.678901");
    equal(client.executeUpdate("DROP TABLE java_t"), 0L);
  }

  void ingest() throws Exception {
    TableExistsOption[] modes = {TableExistsOption.TABLE_EXISTS_OPTION_REPLACE, TableExistsOption.TABLE_EXISTS_OPTION_APPEND};
    long expected = 0;
    for (TableExistsOption mode : modes) {
      try (VectorSchemaRoot rows = threeColumns(500)) {
        equal(client.executeIngest(rows, options("java_i", mode)), 500L);
      }
      equal(rows(client.execute("SELECT count(*) FROM java_i")), String.valueOf(expected += 500));
    }
    try (VectorSchemaRoot rows = threeColumns(1)) {
      fails(FlightStatusCode.ALREADY_EXISTS, "java_i", () -> client.executeIngest(rows, options("java_i", TableExistsOption.TABLE_EXISTS_OPTION_FAIL)));
    }
    client.executeUpdate("DROP TABLE java_i");
  }

  static ExecuteIngestOptions options(String table, TableExistsOption mode) {
    TableDefinitionOptions definition =
        TableDefinitionOptions.newBuilder().setIfNotExist(TableNotExistOption.TABLE_NOT_EXIST_OPTION_CREATE).setIfExists(mode).build();
    return new ExecuteIngestOptions(table, definition, null, null, Map.of());
  }

  void metadata() throws Exception {
    client.executeUpdate("CREATE OR REPLACE TABLE java_m (id BIGINT, price DECIMAL(10,2))");
    equal(rows(client.getCatalogs()), "memory");
    equal(rows(client.getSchemas(null, null)), "memory main");
    equal(rows(client.getTables(null, null, "java\\_m", List.of("TABLE"), false)), "memory main java_m TABLE");
    equal(rows(client.getTableTypes()), "TABLE");
    equal(rows(client.getPrimaryKeys(TableRef.of(null, null, "java_m"))), "");
    equal(rows(client.getSqlInfo(SqlInfo.FLIGHT_SQL_SERVER_NAME)), "0 Data-frame server (DuckDB)");
    if (!rows(client.getXdbcTypeInfo()).contains("DECIMAL")) throw new AssertionError("There is no DECIMAL.");
    FlightInfo read = client.execute("SELECT * FROM java_m");
    Map<String, String> price = read.getSchemaOptional().orElseThrow().getFields().get(1).getMetadata();
    equal(price.get("ARROW:FLIGHT:SQL:PRECISION") + "," + price.get("ARROW:FLIGHT:SQL:SCALE"), "10,2");
    client.executeUpdate("DROP TABLE java_m");
  }

  void errors() throws Exception {
    fails(FlightStatusCode.INVALID_ARGUMENT, "There is no frame \"nope\"", () -> client.execute("SELECT * FROM nope"));
    fails(FlightStatusCode.INVALID_ARGUMENT, "Syntax error", () -> client.execute("SELEC 1"));
  }

  /** Rows of an id, a name and a time with microseconds. */
  VectorSchemaRoot threeColumns(int count) {
    BigIntVector ids = new BigIntVector("id", allocator);
    VarCharVector names = new VarCharVector("name", allocator);
    TimeStampMicroVector moments = new TimeStampMicroVector("moment", allocator);
    for (int i = 0; i < count; i++) {
      ids.setSafe(i, i);
      names.setSafe(i, ("n" + i).getBytes(UTF_8));
      moments.setSafe(i, 1_704_164_645_678_901L);
    }
    List<FieldVector> columns = List.of(ids, names, moments);
    for (FieldVector column : columns) column.setValueCount(count);
    return new VectorSchemaRoot(columns);
  }

  /** The rows of a result: the values of one with spaces between them, and commas between rows. */
  String rows(FlightInfo info) throws Exception {
    List<String> lines = new ArrayList<>();
    for (FlightEndpoint endpoint : info.getEndpoints()) {
      try (FlightStream stream = client.getStream(endpoint.getTicket())) {
        while (stream.next()) {
          VectorSchemaRoot root = stream.getRoot();
          for (int i = 0; i < root.getRowCount(); i++) {
            int row = i;
            lines.add(String.join(" ", root.getFieldVectors().stream().map(column -> String.valueOf(column.getObject(row))).toList()));
          }
        }
      }
    }
    return String.join(", ", lines);
  }

  static void fails(FlightStatusCode code, String words, Step step) throws Exception {
    try {
      step.run();
    } catch (FlightRuntimeException error) {
      CallStatus status = error.status();
      equal(status.code(), code);
      if (!status.description().contains(words)) throw new AssertionError(status.description());
      return;
    }
    throw new AssertionError("It did not fail.");
  }

  static void equal(Object found, Object expected) {
    if (!found.equals(expected)) throw new AssertionError("Expected " + expected + ", found " + found + ".");
  }
}
