// Starts all available peers with the same rows; names missing ones with the reason.
import { datasette } from './datasette.js';
import { mosaic } from './mosaic.js';
import { naiveNode } from './naive-node.js';
import { questdb } from './questdb.js';
import { roapi } from './roapi.js';
import { svc } from './svc.js';

const PEERS = [svc, questdb, roapi, mosaic, datasette, naiveNode];

/**
 * Starts this server and its peers on a data set; `without` names peers to exclude, `and` are further ones, `format` is one
 * that all must support.
 */
export async function startPeers(set, { without = [], and = [], format } = {}) {
  const sides = [];
  const missing = {};
  for (const peer of [...PEERS, ...and].filter(({ name }) => !without.includes(name))) {
    const { formats = [format] } = peer;
    if (format !== undefined && !formats.includes(format)) {
      missing[peer.name] = `does not answer with ${format}`;
      continue;
    }
    try {
      sides.push({ ...(await peer.start(set)), name: peer.name });
    } catch (error) {
      if (peer === svc) throw error;
      missing[peer.name] = String(error instanceof Error ? error.message : error)
        .trim()
        .split('\n')
        .at(-1);
      console.error(`${peer.name} is missing: ${missing[peer.name]}`);
    }
  }
  return {
    sides,
    missing,
    /** Runs one side while the others are stopped: some take every core while they wait for requests. */
    giveMachineTo(chosen) {
      for (const side of sides) process.kill(side.pid, side === chosen ? 'SIGCONT' : 'SIGSTOP');
    },
    async stop() {
      for (const side of sides) {
        process.kill(side.pid, 'SIGCONT');
        await side.stop();
      }
    },
  };
}
