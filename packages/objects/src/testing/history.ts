/** A call of a client, as it saw it. */
export interface Operation<Input, Output> {
  readonly input: Input;
  /** Undefined: no answer came. The call may have taken effect at any time since its start, or never. */
  readonly output?: Output;
  readonly start: number;
  readonly end: number;
}

/** What a correct object does, one operation at a time. */
export interface HistoryModel<State, Input, Output> {
  readonly initial: State;
  /** The state after an operation. Undefined: it cannot have this output in this state. `output` is undefined if no answer came. */
  readonly step: (state: State, input: Input, output: Output | undefined) => State | undefined;
  /** Equal states have equal keys. */
  readonly keyOf: (state: State) => string;
}

/**
 * True if a history is linearizable: each operation can be given a moment between its start and its end, so that a model
 * that runs them in the order of these moments gives the same outputs. A depth-first search over the orders
 * that remembers where it has been (Wing and Gong, with Lowe's cache).
 */
export function checkHistory<State, Input, Output>(
  model: HistoryModel<State, Input, Output>,
  history: readonly Operation<Input, Output>[],
): boolean {
  const operations = history.toSorted((a, b) => a.start - b.start);
  const endOf = ({ output, end }: Operation<Input, Output>): number => (output === undefined ? Infinity : end);
  const seen = new Set<string>();
  /** The operations that have not been given a moment, in the order of their starts. */
  const isDone = new Uint8Array(operations.length);
  let answers = operations.filter(({ output }) => output !== undefined).length;

  /** `first`: all operations before it are done. */
  function search(state: State, first: number): boolean {
    if (answers === 0) return true;
    const key = `${first} ${isDone.subarray(first).join('').replace(/0+$/, '')} ${model.keyOf(state)}`;
    if (seen.has(key)) return false;
    seen.add(key);
    let earliestEnd = Infinity;
    for (let i = first; i < operations.length; i++) {
      const operation = operations[i];
      if (operation === undefined || isDone[i] === 1) continue;
      // It begins after another one has ended: that one comes first.
      if (operation.start > earliestEnd) break;
      earliestEnd = Math.min(earliestEnd, endOf(operation));
      const next = model.step(state, operation.input, operation.output);
      if (next === undefined) continue;
      isDone[i] = 1;
      if (operation.output !== undefined) answers -= 1;
      let rest = first;
      while (isDone[rest] === 1) rest += 1;
      if (search(next, rest)) return true;
      isDone[i] = 0;
      if (operation.output !== undefined) answers += 1;
    }
    return false;
  }

  return search(model.initial, 0);
}
