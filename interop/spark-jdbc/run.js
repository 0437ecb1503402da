// Runs Spark's JDBC reader and writer, with the Flight SQL JDBC driver, against a real server, and records what works.
import { symlinkSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { providePython } from '../../tools/python-environment.js';
import { JDBC_VERSION, provideJdbcDriver } from '../jdbc-driver.js';
import { exitWith, requiredVersion, runPythonClient } from '../run-python-client.js';

/** The environment is that of the suite `scheduler`: Spark is large. */
const REQUIREMENTS = fileURLToPath(new URL('../scheduler/requirements-spark.txt', import.meta.url));

await exitWith(() => {
  const driver = provideJdbcDriver();
  return runPythonClient('spark-jdbc', {
    python: join(providePython('interop-spark', REQUIREMENTS), 'python'),
    row: {
      client: 'Spark JDBC',
      version: requiredVersion(REQUIREMENTS, 'pyspark'),
      through: `the JDBC driver ${JDBC_VERSION}`,
    },
    args: [basename(driver)],
    env: {
      SPARK_LOCAL_IP: '127.0.0.1',
      // Short programs spend most of their time in the compilers of Java.
      JDK_JAVA_OPTIONS: '-XX:TieredStopAtLevel=1',
    },
    prepare: (folder) => symlinkSync(driver, join(folder, basename(driver))),
  });
});
