// Optional peers that pnpm would provide since the root has them, although nothing loads them. valibot names the compiler, for
// the sake of its types, and vite the loaders of other styles and settings: every start would install them.
const UNUSED_PEERS = new Set(['valibot', 'vite']);

function readPackage(manifest) {
  if (UNUSED_PEERS.has(manifest.name)) {
    delete manifest.peerDependencies;
    delete manifest.peerDependenciesMeta;
  }
  return manifest;
}

module.exports = { hooks: { readPackage } };
