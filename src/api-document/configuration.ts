// The reference of the configuration, docs/configuration.md, generated from the schema and the tables by which a configuration is
// checked. `bun run docs` writes it, and a test compares the two. The description of a setting is next to its schema.

import type { TSchema } from '@sinclair/typebox'
import { settingTables } from '../config/schema'
import type { Family } from '../contract/family'
import { operations } from '../contract/operations'
import { rowOf, type Unit, units } from '../contract/units'
import type { UpstreamKind } from '../contract/upstream'

const introduction = `# Configuration

\`\`\`console
$ gateway config check
/etc/gateway/gateway.config.ts has no faults.
…
\`\`\`

Made by \`bun run docs\` from the schema that configurations are checked by; change that.

The executable has the catalogue of \`gateway.config.ts\` built in: every model of it whose upstream has a key is served. A
configuration of your own takes its place:

\`\`\`ts
// gateway.config.ts
export default {
  upstreams: { ollama: { kind: 'openai', baseUrl: 'http://127.0.0.1:11434/v1', apiKey: null } },
  models: {
    'llama3.2': { family: 'openai-chat', upstream: 'ollama', free: true },
    qwen3: {
      family: 'openai-chat',
      upstream: 'ollama',
      upstreamModel: 'qwen3:8b',
      price: { per_1m_input_tokens: '0.05', per_1m_output_tokens: '0.20' },
    },
  },
}
\`\`\`

With \`extends: 'builtin'\` it adds to the catalogue instead, which \`gateway config print\` shows:

\`\`\`ts
export default {
  extends: 'builtin',
  upstreams: {
    local: { kind: 'openai', baseUrl: 'http://127.0.0.1:8000/v1', apiKey: null },
    // Removes a vendor with its models.
    cohere: null,
  },
  models: {
    'llama-4': { family: 'openai-chat', upstream: 'local', free: true },
    // Your own price: the entry replaces the built-in one.
    'text-embedding-v4': {
      family: 'openai-embeddings',
      upstream: 'dashscope',
      price: { per_1m_input_tokens: '0.10' },
    },
    'pgt-6-luna': null,
  },
  aliases: { fast: 'llama-4' },
}
\`\`\`

\`gateway init\` asks and writes a commented file of this kind. \`gateway config check\` says which file is read, and lists every fault at once. Unknown settings, missing prices and prices
finer than a pico-dollar for one are faults.

## Where it is looked for

In this order; the first that is there is read:

1. \`--config FILE\`, then the variable \`GATEWAY_CONFIG\`
2. the working directory
3. next to the executable
4. the user's folder for settings: \`~/.config/gateway\`, on macOS and Windows the system's own
5. \`/etc/gateway\`

The file is \`gateway.config\` with the ending \`.ts\`, \`.js\`, \`.json\`, \`.jsonc\`, \`.yaml\` or \`.toml\`. In the last four
\`\${NAME}\` reads the environment, and \`$\${\` stands for itself.`

const environment = `## Environment

| Variable | Meaning |
| --- | --- |
| \`GATEWAY_CONFIG\` | the configuration file, as \`--config\` |
| \`GATEWAY_DATA_DIR\` | the data directory, as \`--data-dir\`; with \`--sandbox\` its folder \`sandbox\` |
| \`GATEWAY_DATABASE_URL\` | the database, as \`database\` |
| \`GATEWAY_DATABASE_REPLICA_URL\` | its replica, as \`databaseReplica\` |
| \`GATEWAY_SECRETS_KEY\` | the key that encrypts, as \`secrets.key\` |
| \`GATEWAY_HOST\`, \`GATEWAY_PORT\` | the address and port to listen on, as \`--host\` and \`--port\` |
| \`GATEWAY_ADMIN_URL\`, \`GATEWAY_ADMIN_TOKEN\` | the gateway that commands work on over its admin API, as \`--server\` and \`--token\` |
| \`HTTPS_PROXY\`, \`HTTP_PROXY\`, \`NO_PROXY\` | a proxy that speaks HTTP, for calls with and without TLS, and hosts, \`.domains\` and networks that are called without. This machine always is |
| \`NODE_EXTRA_CA_CERTS\` | a file of further certificate authorities, for servers of your own |
| \`XDG_DATA_HOME\`, \`XDG_CONFIG_HOME\` | where the system's user keeps data and settings |
| \`OTEL_EXPORTER_OTLP_ENDPOINT\`, \`OTEL_EXPORTER_OTLP_HEADERS\`, \`OTEL_SERVICE_NAME\`, \`OTEL_TRACES_SAMPLER_ARG\` | the collector of traces and logs, as \`telemetry\` |
| \`OTEL_SDK_DISABLED\` | \`true\`: none of these is read |
| \`AWS_ACCESS_KEY_ID\`, \`AWS_SECRET_ACCESS_KEY\`, \`AWS_SESSION_TOKEN\`, \`AWS_PROFILE\`, \`AWS_SHARED_CREDENTIALS_FILE\`, \`AWS_WEB_IDENTITY_TOKEN_FILE\`, \`AWS_ROLE_ARN\`, \`AWS_ROLE_SESSION_NAME\`, \`AWS_REGION\`, \`AWS_ENDPOINT_URL_STS\`, \`AWS_CONTAINER_CREDENTIALS_RELATIVE_URI\`, \`AWS_CONTAINER_CREDENTIALS_FULL_URI\`, \`AWS_CONTAINER_AUTHORIZATION_TOKEN\`, \`AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE\`, \`AWS_EC2_METADATA_DISABLED\`, \`AWS_EC2_METADATA_SERVICE_ENDPOINT\` | credentials of AWS, read for an upstream with \`credentials: 'aws'\` only |
| \`LISTEN_FDS\`, \`LISTEN_PID\`, \`LISTEN_FDNAMES\` | set by systemd with a socket that it has opened for the gateway |
| \`NO_COLOR\` | output without colours |

A flag wins over a variable, and a variable over the configuration. \`gateway serve --help\` lists the flags.`

const prices = `## Prices

Amounts are dollars as text, so that they are exact. Prices are summed exactly and rounded up to a nano-dollar once a request.

\`\`\`ts
price: {
  per_1m_input_tokens: '1.25', per_1m_cached_input_tokens: '0.125', per_1m_output_tokens: '10.00',
  per_1k_web_searches: '10.00',
  // All tokens of a request with more than 200,000 input tokens, as the vendor counts them.
  above_200k: {
    per_1m_input_tokens: '2.50', per_1m_cached_input_tokens: '0.25', per_1m_output_tokens: '15.00',
  },
  // By the service tier that the vendor's answer reports: a factor, or a table like the one above.
  service_tiers: { flex: '0.5', priority: '2' },
  // Minimum charge of a request that is charged at all.
  minimum: '0.0001',
  // For people: where the list was published, and when.
  source: 'https://example.com/pricing', as_of: '2026-11',
}
\`\`\`

What is held is the worst that a request can reach: a request that names no service tier is held at the dearest of the list.
What a vendor bills apart and the list has no price for is refused with 400: sound, caches for an hour, searches, service
tiers.`

const routes = `## Routes and aliases

\`\`\`ts
models: {
  // Two requests of three go east.
  fast: { family: 'openai-chat', upstream: { east: 2, west: 1 }, price: { … } },
  // The next one if the first is down, busy or failing.
  smart: { route: ['claude-opus-5-5', 'fast'] },
},
// Models that a coding client requests by default.
aliases: { 'claude-haiku-*': 'fast' },
\`\`\`

Only the model that answers is paid. The next model is tried before the first byte, on connection errors, 429 and 5xx, for prompts
that are too long and for empty answers ([routes](operate/routes.md)). A model
that cannot take the request, or has no price for what it asks, is passed over. The header \`x-gateway-model\` names the model
that answered. A name of a vendor's own (\`gpt-5-mini\` is \`pgt-6-luna\` in the built-in catalogue) leads to the model, and is not
listed twice.

The built-in catalogue has aliases for the names that clients of each vendor ask for by default, such as \`gpt-*\` and
\`gemini-*\`. A pattern of yours for the same names replaces them. A pattern never hides an id or a vendor's own name, and leads
only to a model that serves the request.`

export function configurationPage(
  families: ReadonlyMap<string, Family>,
  kinds: ReadonlyMap<string, UpstreamKind>,
): string {
  return [
    introduction,
    ...settingTables.map(({ place, schema }) => settingTable(place, schema)),
    routes,
    prices,
    priceTable(),
    kindTable(kinds),
    familyTable(families),
    `${environment}\n`,
  ].join('\n\n')
}

function settingTable(place: string, schema: TSchema): string {
  const required = new Set((schema.required ?? []) as string[])
  const rows = Object.entries(schema.properties as Record<string, TSchema>).map(
    ([name, { description = '' }]) =>
      `| \`${name}\`${required.has(name) ? ' (required)' : ''} | ${cell(description)} |`,
  )
  // A path of names, followed by what the last of them is: `models.<id>` (a route).
  const [names = '', note = ''] = place.split(/(?= \()/)
  const title = place === '' ? 'Settings' : names.replaceAll(/[^, ]+/g, '`$&`') + note
  return [`## ${title}`, '', '| Setting | Meaning |', '| --- | --- |', ...rows].join('\n')
}

function priceTable(): string {
  const rows = units.map((unit) => {
    const { key, of, fallback } = rowOf(unit)
    return `| \`${key}\` | ${cell(of)} | ${fallback === undefined ? '' : `\`${rowOf(fallback).key}\``} |`
  })
  return ['| Price | Of | Absent: the price |', '| --- | --- | --- |', ...rows].join('\n')
}

function kindTable(kinds: ReadonlyMap<string, UpstreamKind>): string {
  const rows = [...kinds.values()].map(
    ({ kind, baseUrl, secretVariable }) => `| \`${kind}\` | ${baseUrl} | \`${secretVariable}\` |`,
  )
  return [
    '## Kinds of upstreams',
    '',
    '`openai` stands for every server that speaks its API: Ollama, llama.cpp, vLLM, other gateways.',
    '',
    '| Kind | Its own address | Variable of its key in the built-in catalogue |',
    '| --- | --- | --- |',
    ...rows,
  ].join('\n')
}

function familyTable(families: ReadonlyMap<string, Family>): string {
  const order = operations.map(({ name }) => name)
  const sorted = [...families.values()].sort(
    (a, b) => order.indexOf(a.operation) - order.indexOf(b.operation),
  )
  const rows = sorted
    // A family that only supplements another one is chosen by the gateway itself.
    .filter(({ over }) => over === undefined)
    .map(({ name, operation, units }) => {
      const path = operations.find((row) => row.name === operation)?.path
      return `| \`${name}\` | \`POST ${path}\` | ${units.map(pricesOf).join(', or ')} |`
    })
  return [
    '## Families',
    '',
    'A family is a payload contract: what a request of the model looks like, and what it is billed by.',
    '',
    '| Family | Operation | Prices that a model needs |',
    '| --- | --- | --- |',
    ...rows,
  ].join('\n')
}

const pricesOf = (list: readonly Unit[]): string => list.map((unit) => `\`${rowOf(unit).key}\``).join(', ')

const cell = (text: string): string => text.replaceAll('|', '\\|')
