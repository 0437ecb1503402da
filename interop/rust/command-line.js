// What works with flight_sql_client, the command line of arrow-flight.
import { equal, match } from 'node:assert/strict';

/** Runs the command line, and returns what it shows: parts of its row in docs/clients.md. `run` runs it with arguments. */
export function runCommandLine(run, server, tls) {
  const call = ({ grpc }, ...args) => run(['--host', 'localhost', '--port', grpc.split(':').at(-1), ...args]);
  /** Returns the lines of a table, without its borders. */
  const show = (...args) => {
    const { status, stdout, stderr } = call(server, ...args);
    equal(status, 0, stderr);
    return stdout
      .split('\n')
      .filter((line) => line.startsWith('|'))
      .map((line) => line.replaceAll(/[| ]+/g, ' ').trim());
  };
  const refuses = ({ status, stderr }, reason) => {
    equal(status, 1);
    match(stderr, reason);
  };
  const prepared = 'prepared-statement-query';

  show('statement-query', 'CREATE OR REPLACE TABLE rust_c (id BIGINT, name VARCHAR)');
  show('statement-query', "INSERT INTO rust_c VALUES (1, 'a'), (2, NULL)");
  equal(show('statement-query', 'FROM rust_c ORDER BY id').join(), 'id name,1 a,2');
  equal(
    show(prepared, 'SELECT $1::BIGINT + 1 AS next, $2 AS name', '-p', '1=41', '-p', '2=Ada').join(),
    'next name,42 Ada',
  );
  equal(show('catalogs').join(), 'catalog_name,memory');
  equal(show('db-schemas', 'memory').join(), 'catalog_name db_schema_name,memory main');
  equal(show('tables', 'memory', '--table-filter', 'rust\\_c').at(-1), 'memory main rust_c TABLE');
  equal(show('table-types').join(), 'table_type,TABLE');
  show('statement-query', 'DROP TABLE rust_c');
  refuses(call(server, 'statement-query', 'FROM nope'), /There is no frame \\"nope\\"/);
  refuses(call(server, prepared, 'SELECT $1 AS one', '-p', '$1=1'), /Unable to get field named "\$1"/);
  refuses(call(tls, '--tls', '--token', tls.token, 'catalogs'), /invalid peer certificate: UnknownIssuer/);
  return {
    works: [
      'queries, with parameters; `CREATE TABLE`, `INSERT`, `DROP TABLE`',
      'metadata: catalogs, schemas, tables',
      'errors, with their message',
    ],
    lacks: [
      "the form `-p '$1=42'` of its help: name a parameter by its number, `-p 1=42`",
      'TLS with an authority of your own: it trusts only public ones',
    ],
  };
}
