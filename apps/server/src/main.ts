import { startEarly } from './early-start.ts';

// If the event loop runs empty, Node exits before there is an exit code: that is a failure.
process.exitCode = 1;
const argv = process.argv.slice(2);
// The child starts while the modules that read the settings are loaded.
const early = startEarly(argv);
void import('./run-server.ts')
  .then(({ runEarly, runServer }) => (early === undefined ? runServer(argv) : runEarly(argv, early)))
  .then((exitCode) => {
    process.exitCode = exitCode;
  });
