// Preloaded into a server that `train-bundle.js` runs: writes the V8 code caches of the files of the bundle that it has
// loaded, with the functions that it has called. Its first engine child, which reads and writes files, does the same.
const childProcess = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const vm = require('node:vm');
const { isMainThread } = require('node:worker_threads');

const { SVC_CODE_DIRECTORY: directory = '', SVC_CODE_CHILD: isChild, NODE_OPTIONS } = process.env;
const scripts = [];

/** Writes the caches into the folder for this process. */
function write(folder) {
  for (const { name, script } of scripts)
    fs.writeFileSync(path.join(directory, folder, name), script.createCachedData());
}

if (isMainThread) {
  vm.Script = class extends vm.Script {
    constructor(source, { filename }) {
      super(source, { filename });
      scripts.push({ name: path.basename(filename), script: this });
    }
  };
  if (isChild === undefined) recordServer();
  else recordChild();
}

function recordServer() {
  const spawn = childProcess.spawn.bind(childProcess);
  childProcess.spawn = (program, args, options) => {
    childProcess.spawn = spawn;
    const env = { ...options.env, NODE_OPTIONS, SVC_CODE_DIRECTORY: directory, SVC_CODE_CHILD: '' };
    return spawn(program, args, { ...options, env });
  };
  process.on('exit', () => write('server'));
}

/** A child ends itself with a signal. */
function recordChild() {
  const kill = process.kill.bind(process);
  process.kill = (...args) => {
    try {
      write('child');
    } catch {
      // The build was interrupted, and has removed the folder.
    }
    return kill(...args);
  };
}
