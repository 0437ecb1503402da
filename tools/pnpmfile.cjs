// valibot names the compiler as an optional peer, for the sake of its types. pnpm provides it since the root has one, and
// so every start would install a compiler that nothing loads.
function readPackage(manifest) {
  if (manifest.name === 'valibot') {
    delete manifest.peerDependencies;
    delete manifest.peerDependenciesMeta;
  }
  return manifest;
}

module.exports = { hooks: { readPackage } };
