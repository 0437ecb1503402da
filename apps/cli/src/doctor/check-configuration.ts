import type { Config } from '@svc/config';
import { findingText, type ServerConfig } from '../args/server-config.ts';
import type { Diagnosis } from './diagnosis.ts';

/** Checks that the configuration of the server loads; the other checks need it. */
export function checkConfiguration(loaded: ServerConfig): {
  readonly diagnoses: readonly Diagnosis[];
  readonly config: Config | undefined;
} {
  const warnings = loaded.warnings.map((warning): Diagnosis => ({
    status: 'warning',
    text: findingText(warning),
    advice: warning.hint,
  }));
  if (loaded.kind === 'problems') {
    const problems = loaded.problems.map((problem): Diagnosis => ({
      status: 'problem',
      text: findingText(problem),
      advice: problem.hint,
    }));
    return { diagnoses: [...problems, ...warnings], config: undefined };
  }
  const from = loaded.file === undefined ? 'there is no configuration file' : `from ${JSON.stringify(loaded.file)}`;
  return {
    diagnoses: [{ status: 'ok', text: `The configuration loads; ${from}.` }, ...warnings],
    config: loaded.config,
  };
}
