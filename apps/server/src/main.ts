import { runServer } from './run-server.ts';

// If the event loop runs empty, Node exits before there is an exit code: a failure.
process.exitCode = 1;
void runServer(process.argv.slice(2)).then((exitCode) => {
  process.exitCode = exitCode;
});
