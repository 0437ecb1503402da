// The page of the API: loads the description of the server that serves it, and lists its operations.
import { element, renderMarkdown, renderOperation } from './operation.js';
import { send, setToken } from './request.js';

const METHODS = ['get', 'put', 'post', 'patch', 'delete'];
const byId = (id) => document.getElementById(id);
const filter = byId('filter');
const credentials = byId('credentials');

/** Returns the operations of a document in its order, each with the parameters of its path. */
function operationsOf(description) {
  return Object.entries(description.paths).flatMap(([path, item]) =>
    METHODS.filter((method) => item[method] !== undefined).map((method) => {
      const operation = item[method];
      const parameters = [...(item.parameters ?? []), ...(operation.parameters ?? [])];
      return { ...operation, parameters, path, method: method.toUpperCase(), id: operation.operationId };
    }),
  );
}

/** Returns one operation as a section that is filled when it is opened. */
function renderSection(operation, description) {
  const { id, method, path, summary } = operation;
  const details = element('details', { className: 'operation', id }, [
    element('summary', {}, [
      element('h3', {}, [
        element('span', { className: 'method' }, [method]),
        element('code', {}, [path]),
        ` ${summary}`,
      ]),
    ]),
  ]);
  details.addEventListener('toggle', () => {
    if (details.open && details.children.length === 1) details.append(renderOperation(operation, description));
  });
  return details;
}

function renderGroup(name, operations, description) {
  const entries = operations.map((operation) => {
    const { id, method, path } = operation;
    const link = element('li', {}, [
      element('a', { href: `#${id}` }, [
        element('span', { className: 'method' }, [method]),
        element('code', {}, [path]),
      ]),
    ]);
    return { operation, link, section: renderSection(operation, description) };
  });
  const links = element(
    'ul',
    {},
    entries.map(({ link }) => link),
  );
  const contents = element('div', {}, [element('h2', {}, [name]), links]);
  const group = element('section', {}, [element('h2', {}, [name]), ...entries.map(({ section }) => section)]);
  byId('contents').append(contents);
  byId('operations').append(group);
  return { entries, parts: [contents, group] };
}

/** Shows the operations whose method, path or summary has every word of the filter. */
function applyFilter(groups) {
  const words = filter.value.toLowerCase().split(/\s+/);
  let count = 0;
  for (const { entries, parts } of groups) {
    for (const { operation, link, section } of entries) {
      const text = `${operation.method} ${operation.path} ${operation.summary}`.toLowerCase();
      const isShown = words.every((word) => text.includes(word));
      link.hidden = !isShown;
      section.hidden = !isShown;
      if (isShown) count += 1;
    }
    const isEmpty = entries.every(({ link }) => link.hidden);
    for (const part of parts) part.hidden = isEmpty;
  }
  byId('status').textContent = count === 1 ? '1 operation' : `${count} operations`;
}

/** Opens the operation that the address names. */
function openNamed() {
  const named = byId(decodeURIComponent(location.hash.slice(1)));
  if (named?.localName !== 'details') return;
  named.open = true;
  named.scrollIntoView();
  named.querySelector('summary').focus();
}

function show(description) {
  const { title, version, description: text = '' } = description.info;
  document.title = `${title}: HTTP API`;
  byId('title').textContent = `${title} ${version}: HTTP API`;
  byId('operations').append(...renderMarkdown(text));
  const operations = operationsOf(description);
  const groups = description.tags.map(({ name }) => {
    const own = operations.filter(({ tags = [] }) => tags.includes(name));
    return renderGroup(name, own, description);
  });
  filter.addEventListener('input', () => applyFilter(groups));
  applyFilter(groups);
  window.addEventListener('hashchange', openNamed);
  openNamed();
}

/** Loads and shows the description. A server that wants a token is asked again when there is one. */
async function load() {
  const status = byId('status');
  try {
    const response = await send({ method: 'GET', target: 'openapi.json', headers: {} });
    if (response.status === 401) {
      credentials.hidden = false;
      status.textContent = 'This server needs a token to show its description.';
      byId('token').focus();
      return;
    }
    const body = await response.json();
    if (!response.ok) throw new Error(body.error);
    if (body.security?.length > 0) credentials.hidden = false;
    show(body);
  } catch (error) {
    status.className = 'error';
    status.textContent = `The description cannot be loaded: ${error.message}`;
  }
}

credentials.addEventListener('submit', (event) => {
  event.preventDefault();
  setToken(byId('token').value);
  // Not again: forms would lose what was typed.
  if (byId('contents').children.length === 0) void load();
});
document.addEventListener('keydown', (event) => {
  const isTyping = /^(input|textarea|select)$/.test(event.target.localName);
  if (event.key === '/' && !isTyping) {
    event.preventDefault();
    filter.focus();
  } else if (event.key === 'Escape' && event.target === filter) {
    filter.value = '';
    filter.dispatchEvent(new Event('input'));
  }
});
await load();
