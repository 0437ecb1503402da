// The packages in the bundle of a binary: their licences, and a list for scanners of known vulnerabilities (SBOM,
// CycloneDX 1.6). Both come from the modules of the bundler.
import { readdirSync, readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';

function readManifest(folder) {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
}

/** Returns the folder, name, version and licence of each package of the modules, sorted by name. */
export function packagesOf(modules) {
  const folders = new Set(modules.map((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(id)?.[0]));
  folders.delete(undefined);
  return [...folders].map((folder) => ({ folder, ...factsOf(readManifest(folder)) })).toSorted(byName);
}

/** Old packages have a list of licences. */
function factsOf({ name, version, license, licenses }) {
  return { name, version, licence: license ?? licenses?.map(({ type }) => type).join(' OR ') };
}

function byName(a, b) {
  return `${a.name} ${a.version}` < `${b.name} ${b.version}` ? -1 : 1;
}

/** Returns the licences of packages as a text. */
export function licencesOf(packages) {
  const texts = packages.map(({ folder, name, version, licence }) => {
    const files = readdirSync(folder).filter((file) => /^(licen[cs]e|notice|copying)\b/i.test(file));
    const own = files.map((file) => readFileSync(join(folder, file), 'utf8').trim());
    return [`${name} ${version} (${licence})`, ...own].join('\n\n');
  });
  return `The files beside this one contain these packages.\n\n${texts.join(`\n\n${'-'.repeat(80)}\n\n`)}\n`;
}

/**
 * Returns the SBOM of an app as JSON: the bundled packages, and the native one, with a package for each platform. It
 * has no time and no random number: the same sources give the same text.
 */
export function sbomOf(appFolder, packages, native) {
  const app = readManifest(appFolder);
  const nativeFolder = realpathSync(join(appFolder, 'node_modules', native));
  const loaded = { folder: nativeFolder, ...factsOf(readManifest(nativeFolder)) };
  const { optionalDependencies = {} } = readManifest(nativeFolder);
  const platforms = Object.entries(optionalDependencies).map(([name, version]) => ({
    name,
    version,
    licence: loaded.licence,
    isOptional: true,
  }));
  const components = [...packages, loaded, ...platforms].toSorted(byName).map(componentOf);
  const root = { ...componentOf({ ...factsOf(app), name: app.name }), type: 'application' };
  const sbom = {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { component: root },
    components,
    dependencies: [{ ref: root['bom-ref'], dependsOn: components.map((component) => component['bom-ref']) }],
  };
  return `${JSON.stringify(sbom, undefined, 2)}\n`;
}

function componentOf({ name, version, licence, isOptional = false }) {
  const [, group, rest = name] = /^(@[^/]+)\/(.+)$/.exec(name) ?? [];
  const purl = `pkg:npm/${group === undefined ? '' : `${encodeURIComponent(group)}/`}${rest}@${version}`;
  return {
    type: 'library',
    'bom-ref': purl,
    ...(group !== undefined && { group }),
    name: rest,
    version,
    ...(isOptional && { scope: 'optional' }),
    ...(licence !== undefined && { licenses: [licenseOf(licence)] }),
    purl,
  };
}

/** An identifier of SPDX, or an expression of several. */
function licenseOf(licence) {
  return /[ ()]/.test(licence) ? { expression: licence } : { license: { id: licence } };
}
