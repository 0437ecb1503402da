import type { Context } from '../args/command.ts';
import { historyFile, loadHistory } from './history.ts';
import { createPromptSession, type PromptSessionOptions } from './prompt-session.ts';
import { type PromptOptions, runPrompt } from './run-prompt.ts';

/** Options of the prompt of `svc query`. */
export interface StartPromptOptions extends Omit<PromptSessionOptions, 'context'>, Pick<PromptOptions, 'terminal'> {
  readonly context: Context;
}

/** Starts the prompt of `svc query` with the history of the user. */
export async function startPrompt(options: StartPromptOptions): Promise<void> {
  const { context, terminal } = options;
  const history = await loadHistory(historyFile(context));
  await runPrompt({ terminal, session: createPromptSession(options), history, context });
}
