/** Returns the bin folder of the Python environment that `run.js` has made for an engine. */
export function programsOf(engine: 'sail' | 'spark'): string {
  const programs = process.env[`SVC_${engine.toUpperCase()}_PROGRAMS`];
  if (programs === undefined) throw new Error('Run this suite with node interop/scheduler/run.js.');
  return programs;
}
