import { type ComponentType, h, type JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';

/**
 * Returns a component whose code is loaded when it is first shown. The chunk stays loaded.
 * @param Meanwhile what is shown until then; null: nothing
 */
export function lazy<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
  Meanwhile?: ComponentType<Props> | null,
): (props: Props) => JSX.Element | null {
  let loaded: ComponentType<Props> | undefined;
  return function Lazy(props) {
    const [state, setState] = useState<{ readonly attempt: number; readonly hasFailed: boolean }>({
      attempt: 0,
      hasFailed: false,
    });
    useEffect(() => {
      let isGone = false;
      if (loaded !== undefined) return undefined;
      const show = (hasFailed: boolean) => isGone || setState(({ attempt }) => ({ attempt, hasFailed }));
      load().then(
        (component) => {
          loaded = component;
          show(false);
        },
        () => show(true),
      );
      return () => (isGone = true);
    }, [state.attempt]);
    if (loaded !== undefined) return h(loaded, props);
    if (!state.hasFailed && Meanwhile === null) return null;
    if (!state.hasFailed)
      return (
        <div class="lazy" aria-busy="true">
          {Meanwhile && h(Meanwhile, props)}
        </div>
      );
    return (
      <div class="lazy" role="alert">
        <p>This part of the console could not be loaded.</p>
        <button type="button" onClick={() => setState(({ attempt }) => ({ attempt: attempt + 1, hasFailed: false }))}>
          Try again
        </button>
      </div>
    );
  };
}
