import { runServer } from './run-server.ts';

void runServer(process.argv.slice(2)).then((exitCode) => {
  process.exitCode = exitCode;
});
