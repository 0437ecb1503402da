// All peers that can be had, with the same rows; one that cannot is named, with the reason.
import { datasette } from './datasette.js';
import { naiveNode } from './naive-node.js';
import { questdb } from './questdb.js';
import { roapi } from './roapi.js';
import { svc } from './svc.js';

const PEERS = [svc, questdb, roapi, datasette, naiveNode];

/** Not asked at all, and why. */
const LEFT_OUT = { "Mosaic's duckdb-server": 'needs Python 3.12 or newer' };

/** Starts this server and its peers on a data set; `without` names peers that are not wanted. */
export async function startPeers(set, { without = [] } = {}) {
  const sides = [];
  const missing = { ...LEFT_OUT };
  for (const peer of PEERS.filter(({ name }) => !without.includes(name))) {
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
    async stop() {
      for (const side of sides) await side.stop();
    },
  };
}
