import type { Diagnosis } from './diagnosis.ts';

/** The oldest Node that `svc` and the server support, as in the manifests. */
const OLDEST = [20, 19] as const;

/** Checks that this Node is new enough. */
export function checkNode(version: string): Diagnosis {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const isNewEnough = major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1]);
  if (isNewEnough) return { status: 'ok', text: `Node is ${version}.` };
  return {
    status: 'problem',
    text: `Node is ${version}, which is too old.`,
    advice: `Install Node ${OLDEST.join('.')} or newer.`,
  };
}
