import { runServer } from './run-server.ts';

// Where nothing is left to wait for Node ends before there is a code, and that is no success.
process.exitCode = 1;
void runServer(process.argv.slice(2)).then((exitCode) => {
  process.exitCode = exitCode;
});
