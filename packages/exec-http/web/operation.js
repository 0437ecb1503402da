// One operation of the page: its parameters, bodies and responses, and a form that sends it.
import { asCurl, asFetch, buildRequest, indentJson, isText, readLimited, send } from './request.js';

/** Creates an element; text and other elements are its children. */
export function element(name, properties = {}, children = []) {
  const { label, ...others } = properties;
  const created = Object.assign(document.createElement(name), others);
  if (label !== undefined) created.setAttribute('aria-label', label);
  created.append(...children);
  return created;
}

/** Returns text with `code` in it as nodes. */
function renderInline(text) {
  return text.split('`').map((part, i) => (i % 2 === 1 ? element('code', {}, [part]) : part));
}

/** Returns the Markdown of descriptions as elements: paragraphs, lists and code. */
export function renderMarkdown(text) {
  return text.split('\n\n').map((block) => {
    if (!block.startsWith('- ')) return element('p', {}, renderInline(block));
    const items = block.split(/\n?^- /m).filter((item) => item !== '');
    return element(
      'ul',
      {},
      items.map((item) => element('li', {}, renderInline(item))),
    );
  });
}

function resolve(object, description) {
  const path = object?.$ref?.slice(2).split('/');
  return path === undefined ? object : path.reduce((value, key) => value[key], description);
}

/** Returns a schema in the notation of TypeScript. */
function typeText(given, description, indent = '') {
  const schema = resolve(given, description) ?? {};
  const alternatives = schema.anyOf ?? schema.oneOf;
  if (alternatives !== undefined) return alternatives.map((one) => typeText(one, description, indent)).join(' | ');
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  if (schema.type === 'array') return `(${typeText(schema.items, description, indent)})[]`.replace(/^\((\w+)\)/, '$1');
  if (schema.properties === undefined) return schema.type ?? 'any';
  const inner = `${indent}  `;
  const lines = Object.entries(schema.properties).map(([name, value]) => {
    const mark = schema.required?.includes(name) ? '' : '?';
    return `${inner}${name}${mark}: ${typeText(value, description, inner)};`;
  });
  return `{\n${lines.join('\n')}\n${indent}}`;
}

function renderTable(head, rows) {
  const cells = (name, values) =>
    values.map((value) => element(name, name === 'th' ? { scope: 'col' } : {}, [value].flat()));
  return element('table', {}, [
    element('thead', {}, [element('tr', {}, cells('th', head))]),
    element(
      'tbody',
      {},
      rows.map((row) => element('tr', {}, cells('td', row))),
    ),
  ]);
}

const code = (text) => element('code', {}, [text]);
const pre = (text, label) => element('pre', { tabIndex: 0, label, role: 'group' }, [text]);

function renderParameters({ parameters }, description) {
  if (parameters.length === 0) return [];
  const rows = parameters.map(({ name, in: place, required = false, schema, description: rule = '' }) => [
    [code(name), element('div', { className: 'muted' }, [required ? `${place}, required` : place])],
    code(typeText(schema, description)),
    renderMarkdown(rule),
  ]);
  return [element('h4', {}, ['Parameters']), renderTable(['Name', 'Type', 'Rule'], rows)];
}

/** Returns the media types of a body, and its schema unless that says nothing. */
function renderContent(content, description) {
  return Object.entries(content ?? {}).flatMap(([type, { schema }]) => {
    const text = typeText(schema, description);
    return [code(type), ...(/^(any|string)$/.test(text) ? [' '] : [pre(text, `The schema of ${type}`)])];
  });
}

function renderBody({ requestBody }, description) {
  if (requestBody === undefined) return [];
  return [element('h4', {}, ['Body']), element('div', {}, renderContent(requestBody.content, description))];
}

function renderResponses({ responses }, description) {
  const rows = Object.entries(responses).map(([status, given]) => {
    const { description: text, headers = {}, content } = resolve(given, description);
    const names = Object.keys(headers).flatMap((name) => [code(name), ' ']);
    // All errors have the same body.
    const body = Number(status) < 400 ? renderContent(content, description) : [];
    return [code(status), [...renderMarkdown(text), ...body], names];
  });
  return [element('h4', {}, ['Responses']), renderTable(['Status', 'Meaning', 'Headers'], rows)];
}

/** Returns the input of a parameter or body: the values of an array are lines. */
function renderInput(name, schema, example) {
  const choices = schema.enum ?? (schema.type === 'boolean' ? [true, false] : undefined);
  if (choices !== undefined) {
    const options = ['', ...choices].map((value) => element('option', { value: String(value) }, [String(value)]));
    return element('select', { name }, options);
  }
  const value = example === undefined ? '' : String(example);
  if (schema.type === 'array') return element('textarea', { name, value });
  const placeholder = schema.examples?.[0] ?? '';
  return element('input', { name, value, placeholder, autocomplete: 'off', spellcheck: false });
}

/** Returns the fields of the form, and how to read them. */
function renderFields({ parameters, requestBody }) {
  const inputs = parameters.map((parameter) => {
    const { schema, required = false } = parameter;
    const input = renderInput(
      parameter.name,
      schema,
      required ? (schema.examples?.[0] ?? schema.enum?.[0]) : undefined,
    );
    if (required) input.required = true;
    if (required && schema.enum?.length === 1) input.value = schema.enum[0];
    const note = schema.type === 'array' ? ' (one value per line)' : '';
    const label = element('label', {}, [element('span', {}, [parameter.name, required ? ' (required)' : note]), input]);
    return { parameter, input, label };
  });
  const types = Object.keys(requestBody?.content ?? {});
  const type = element(
    'select',
    { name: 'content-type' },
    types.map((name) => element('option', {}, [name])),
  );
  const body = element('textarea', { name: 'body', spellcheck: false });
  const file = element('input', { type: 'file', name: 'file' });
  const fill = () => {
    const { example } = requestBody.content[type.value];
    const sql = type.value === 'application/x-www-form-urlencoded' ? example?.query : undefined;
    body.value = sql ?? (typeof example === 'object' ? JSON.stringify(example, null, 2) : (example ?? ''));
  };
  const labels = inputs.map(({ label }) => label);
  if (types.length > 0) {
    type.addEventListener('change', fill);
    fill();
    const field = (text, input, className = '') =>
      element('label', { className }, [element('span', {}, [text]), input]);
    labels.push(field('Content-Type', type), field('A file as the body', file), field('Body', body, 'wide'));
  }
  const read = () => ({
    values: inputs.map(({ parameter, input }) => ({ parameter, text: input.value })),
    ...(types.length > 0 && { contentType: type.value, body: file.files[0] ?? body.value }),
  });
  return { labels, read };
}

async function renderResponse(response, startMs, link) {
  const { status, statusText, headers } = response;
  const type = headers.get('content-type') ?? '';
  const { bytes, isCut } = await readLimited(response);
  const ms = Math.round(performance.now() - startMs);
  const size = `${bytes.byteLength}${isCut ? ' or more' : ''} bytes`;
  const title = `${status} ${statusText}, ${ms} ms, ${size}`;
  const head = [...headers].map(([name, value]) => `${name}: ${value}`).join('\n');
  const parts = [element('p', { className: response.ok ? '' : 'error' }, [title]), pre(head, 'Response headers')];
  if (link !== undefined) parts.push(element('p', {}, [element('a', { href: link, download: '' }, ['Download'])]));
  if (bytes.byteLength === 0) return parts;
  const text = isText(type) ? new TextDecoder().decode(bytes) : `${type}: not shown.`;
  return [...parts, pre(type.includes('json') && !isCut ? indentJson(text) : text, 'Response body')];
}

function renderTry(operation) {
  const { method, path, summary } = operation;
  const { labels, read } = renderFields(operation);
  const curl = pre('', 'The request with curl');
  const script = pre('', 'The request in JavaScript');
  const output = element('div', { ariaLive: 'polite' });
  const button = element('button', {}, ['Send']);
  const cancel = element('button', { type: 'button', disabled: true }, ['Cancel']);
  const form = element('form', { label: `Try ${method} ${path}` }, [
    element('fieldset', {}, [element('legend', {}, [summary]), ...labels]),
    element('p', {}, [button, ' ', cancel]),
  ]);
  const update = () => {
    const request = buildRequest(operation, read());
    curl.textContent = asCurl(request);
    script.textContent = asFetch(request);
  };
  form.addEventListener('input', update);
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const request = buildRequest(operation, read());
    const abort = new AbortController();
    cancel.addEventListener('click', () => abort.abort(), { signal: abort.signal });
    button.disabled = true;
    cancel.disabled = false;
    const startMs = performance.now();
    try {
      const response = await send(request, abort.signal);
      output.replaceChildren(...(await renderResponse(response, startMs, request.link)));
    } catch (error) {
      output.replaceChildren(element('p', { className: 'error' }, [error.message]));
    } finally {
      // Removes the listener of the button.
      abort.abort();
      button.disabled = false;
      cancel.disabled = true;
    }
  });
  update();
  const examples = [element('h4', {}, ['curl']), curl, element('h4', {}, ['JavaScript']), script];
  return [element('h4', {}, ['Try']), form, output, ...examples];
}

/** Returns the description of an operation, and the form to send it. */
export function renderOperation(operation, description) {
  return element('div', {}, [
    ...renderMarkdown(operation.description ?? ''),
    ...renderParameters(operation, description),
    ...renderBody(operation, description),
    ...renderTry(operation),
    ...renderResponses(operation, description),
  ]);
}
