// The text of a new configuration, with comments. Its text must pass `config check` unchanged, and must never contain a vendor's
// key.

import catalogue from '../../gateway.config'
import { chatFamilyOf, upstreamKinds } from '../../src/upstreams/kinds'

export interface NewUpstream {
  /** One of `choosableKinds`. */
  name: string
  /** The address; undefined for the usual one. */
  baseUrl?: string | undefined
}

export interface NewConfig {
  upstreams: readonly NewUpstream[]
  /** The address of PostgreSQL; undefined for SQLite. */
  database: string | undefined
  host: string
  port: number
}

/** Kinds whose models are in the built-in catalogue. */
const cataloguedKinds: readonly string[] = Object.values(catalogue.upstreams).map(({ kind }) => kind)

/** The operator's own server that speaks OpenAI's API, such as llama.cpp or vLLM. */
const OWN_SERVER = 'local'
const OWN_SERVER_URL = 'http://127.0.0.1:8000/v1'
/** A kind for which every customer has their own URL. */
const AZURE = 'azure'

/** Kinds that can be chosen: the catalogue's first. Those that need more than a key and a URL are set up by hand. */
export const choosableKinds: readonly string[] = [
  ...cataloguedKinds,
  ...[...upstreamKinds.values()]
    .filter(({ kind, baseUrl }) => !cataloguedKinds.includes(kind) && !/[A-Z]{4}/.test(baseUrl))
    .map(({ kind }) => kind),
  AZURE,
  OWN_SERVER,
]

/** The default URL of a kind that needs one; undefined for the others. Empty: there is no usual one. */
export function usualUrlOf(kind: string): string | undefined {
  if (kind === AZURE) return ''
  return kind === OWN_SERVER ? OWN_SERVER_URL : undefined
}

/** The variable of the key of a kind; undefined if it needs none. */
export function keyVariableOf(kind: string): string | undefined {
  if (kind === OWN_SERVER) return undefined
  const { secretVariable, keyless } = upstreamKinds.get(kind) ?? {}
  return keyless ? undefined : secretVariable
}

export function configText({ upstreams, database, host, port }: NewConfig): string {
  return `// The configuration of this gateway. \`gateway config check\` lists its faults, and \`gateway config reload\` puts a change
// in force without a restart. All settings: docs/configuration.md

export default {
  // Adds to the built-in catalogue of models and prices, which \`gateway config print\` shows. What is set here wins;
  // null removes an entry of the catalogue.
  extends: 'builtin',

  server: {
    host: ${text(host)},
    port: ${port},
    // Where callers reach it if it is behind a proxy:
    // publicUrl: 'https://ai.example.com',
    // trustedProxies: ['10.0.0.0/8'],
    // Reload when this file changes:
    // watchConfig: true,
  },

${databaseLines(database)}

  // Vendors. One without a key only hides its models: set the variables where the gateway starts.
  upstreams: {
${upstreams.map(upstreamLine).join('\n')}
${upstreams.some(({ name }) => name === OWN_SERVER) ? '' : ownServerExample}  },

  models: {
${upstreams.flatMap(({ name }) => modelLines(name)).join('\n')}
    // A price of your own, in dollars, for a model of the catalogue or a new one:
    // 'my-model': {
    //   family: 'openai-chat',
    //   upstream: 'openai',
    //   upstreamModel: 'gpt-6-luna',
    //   price: { per_1m_input_tokens: '0.30', per_1m_output_tokens: '2.40' },
    // },
    // The next model where the first is down, busy or failing:
    // smart: { route: ['claude-opus-5-5', 'pgt-6-luna'] },
  },

  // Other names of models, as clients ask for by themselves:
  aliases: {
    // 'small-*': 'pgt-6-luna',
  },

  // Keeps pictures and videos that vendors delete after a day:
${artifactsLine(database)}

  // Encrypts secrets and contents in the database (docs/encryption.md):
  // secrets: { key: process.env.GATEWAY_SECRETS_KEY },
}
`
}

const ownServerExample = `    // A server on your own machine that speaks OpenAI's API, such as llama.cpp or vLLM:
    // ${OWN_SERVER}: { kind: 'openai', baseUrl: '${OWN_SERVER_URL}', apiKey: null },
`

function databaseLines(database: string | undefined): string {
  if (database === undefined) {
    return `  // The state is one SQLite file in the data directory. Several nodes share a PostgreSQL:
  // database: process.env.GATEWAY_DATABASE_URL,`
  }
  return `  // Any number of nodes with this database share keys, money, limits and tasks.
  database: ${text(database)},`
}

function artifactsLine(database: string | undefined): string {
  if (database === undefined) return "  // artifacts: { keep: '7d', maxBytes: '10GB' },"
  // Nodes cannot read each other's disks.
  return `  // artifacts: {
  //   keep: '7d',
  //   s3: {
  //     bucket: 'results',
  //     endpoint: 'https://s3.example.com',
  //     region: 'eu-central-1',
  //     accessKeyId: process.env.S3_ACCESS_KEY_ID,
  //     secretAccessKey: process.env.S3_SECRET_ACCESS_KEY,
  //   },
  // },`
}

/** Whether a kind serves all models that the server has. */
const isDiscovered = (kind: string) => upstreamKinds.get(kind)?.listing?.freeFamily !== undefined

function upstreamLine({ name, baseUrl = usualUrlOf(name) }: NewUpstream): string {
  const variable = keyVariableOf(name)
  const isOwn = name === OWN_SERVER
  const key = isOwn ? ', apiKey: null' : variable === undefined ? '' : `, apiKey: process.env.${variable}`
  const url = baseUrl ?? (variable === undefined ? upstreamKinds.get(name)?.baseUrl : undefined)
  const place = url === undefined ? '' : `, baseUrl: ${text(url)}`
  const models = isDiscovered(name) ? ', discover: true' : ''
  return `    ${name}: { kind: ${text(isOwn ? 'openai' : name)}${place}${key}${models} },`
}

/** How an upstream gets its models if the catalogue has none of them. */
function modelLines(kind: string): string[] {
  if (cataloguedKinds.includes(kind) || isDiscovered(kind)) return []
  const { listing } = upstreamKinds.get(kind) ?? {}
  if (listing) {
    return [
      `    // All models of ${kind}, after \`gateway prices fetch ${kind}\`:`,
      `    // '${kind}/*': { family: 'openai-chat', upstream: '${kind}', list: '${kind}.models.json' },`,
    ]
  }
  if (kind === OWN_SERVER) {
    return [
      `    // '${kind}-model': { family: 'openai-chat', upstream: '${kind}', upstreamModel: "the server's name for it", free: true },`,
    ]
  }
  return [
    `    // '${kind}-model': {`,
    `    //   family: '${chatFamilyOf(kind)}',`,
    `    //   upstream: '${kind}',`,
    `    //   upstreamModel: "the vendor's name for it",`,
    "    //   price: { per_1m_input_tokens: '0.50', per_1m_output_tokens: '1.50' },",
    '    // },',
  ]
}

function text(value: string): string {
  return `'${value.replaceAll(/[\\']/g, (mark) => `\\${mark}`)}'`
}
