import { render } from 'preact';

render(<main>svc</main>, document.body);
