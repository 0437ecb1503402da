// The Flight SQL JDBC driver of Arrow Java, for the suites that use it.
import { provideJar } from './provide-jar.js';

const DRIVER = {
  group: 'org.apache.arrow',
  artifact: 'flight-sql-jdbc-driver',
  version: '18.3.0',
  sha256: '3f418b46c880e263558c5de669bdbede2c5d4375527ced116fb29f795b03704c',
};

/** The version of the driver. */
export const JDBC_VERSION = DRIVER.version;

/** Returns the path of the driver, and downloads it if necessary. */
export function provideJdbcDriver() {
  return provideJar(DRIVER);
}
