// Jars from Maven Central: each is downloaded once, and used only if its checksum matches the pinned one.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const PLUGIN = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1';
const CACHE = new URL('../node_modules/.cache/', import.meta.url);

/** Returns the path of a jar, and downloads it if necessary. */
export function provideJar({ group, artifact, version, sha256: expected }) {
  const name = `${artifact}-${version}.jar`;
  const jar = fileURLToPath(new URL(`interop-${artifact}/${name}`, CACHE));
  // A file gets its final name only after its checksum was verified.
  if (existsSync(jar)) return jar;
  console.error(`Fetching ${name}; this happens once.`);
  mkdirSync(dirname(jar), { recursive: true });
  const folder = mkdtempSync(`${jar}-`);
  try {
    const coordinates = `${group}:${artifact}:${version}`;
    runMaven(coordinates, [`${PLUGIN}:copy`, `-Dartifact=${coordinates}`, `-DoutputDirectory=${folder}`]);
    const sha256 = checksum(readFileSync(join(folder, name)));
    if (sha256 !== expected) throw new Error(`The checksum of ${name} is ${sha256} and not ${expected}.`);
    renameSync(join(folder, name), jar);
  } finally {
    rmSync(folder, { recursive: true });
  }
  return jar;
}

/**
 * Returns the folder with the jars that a pom.xml needs, and downloads them if necessary. `sha256` is the checksum of the names
 * and checksums of all.
 */
export function provideJars(name, { pom, sha256: expected }) {
  const folder = fileURLToPath(
    new URL(`interop-${name}-${checksum(readFileSync(pom) + expected).slice(0, 16)}`, CACHE),
  );
  if (existsSync(folder)) return folder;
  console.error(`Fetching the jars of ${name}; this happens once.`);
  mkdirSync(fileURLToPath(CACHE), { recursive: true });
  const unverified = mkdtempSync(`${folder}-`);
  try {
    runMaven(name, ['--file', pom, `${PLUGIN}:copy-dependencies`, `-DoutputDirectory=${unverified}`]);
    const jars = readdirSync(unverified).toSorted();
    const sha256 = checksum(jars.map((jar) => `${jar} ${checksum(readFileSync(join(unverified, jar)))}\n`).join(''));
    if (sha256 !== expected) throw new Error(`The checksum of the jars of ${name} is ${sha256} and not ${expected}.`);
    renameSync(unverified, folder);
  } finally {
    rmSync(unverified, { recursive: true, force: true });
  }
  return folder;
}

function checksum(content) {
  return createHash('sha256').update(content).digest('hex');
}

function runMaven(what, args) {
  const { status, stdout, stderr, error } = spawnSync('mvn', ['--quiet', '--batch-mode', ...args], {
    encoding: 'utf8',
    timeout: 600_000,
  });
  if (error) throw new Error(`Maven is needed to fetch ${what}, and could not be started: ${error.message}`);
  if (status !== 0) throw new Error(`Fetching ${what} failed:\n${stdout}${stderr}`);
}
