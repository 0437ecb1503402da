import type { ByteBudget } from '../../byte-budget.ts';
import type { DecodeSteps } from '../decode-steps.ts';

/** Transfers batches to the reader: a batch stops counting at the next step, and a dictionary when it is replaced. */
export function* transfer(steps: DecodeSteps, budget: ByteBudget): DecodeSteps {
  const dictionaries = new Map<number, number>();
  for (const step of steps) {
    yield step;
    if (step.kind === 'batch') budget.free(step.heldBytes);
    if (step.kind !== 'dictionary') continue;
    budget.free(dictionaries.get(step.id) ?? 0);
    dictionaries.set(step.id, step.heldBytes);
  }
}
