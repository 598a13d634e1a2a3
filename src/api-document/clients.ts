// The clients that `gateway env` supports, and what each reads to use this gateway: shell variables, a command, or a settings file.
// Everything here must be tested with the client itself, as printed.

import type { OperationName } from '../contract/operations'

/** The facts from which the settings of every client are derived. */
interface ClientParts {
  /** The URL of the gateway, without /v1. */
  url: string
  secret: string
  /** The model to use; undefined if the client chooses for each request. */
  model: string | undefined
}

/** The settings of one client, in its own format. */
export interface ClientSettings {
  variables: Record<string, string>
  command?: string
  file?: { path: string; content: string }
  /** Instructions for a client that is set up in a window. */
  steps?: readonly string[]
}

interface ClientRow {
  /** The operation that a model of this client must serve; absent if it names a model in each request. */
  operation?: OperationName
  /** True if its settings must name a model. */
  needsModel?: true
  settings(parts: ClientParts): ClientSettings
}

/** The variable from which settings files read the secret, so that it is not in them. */
const KEY_VARIABLE = 'GATEWAY_API_KEY'
/** Placeholder for a model if none can be chosen. */
export const MODEL_PLACEHOLDER = 'MODEL-ID'

/** All model variables of Claude Code. Without them, small background calls would use a model with another name. */
const MODEL_VARIABLES = [
  'ANTHROPIC_MODEL',
  'ANTHROPIC_DEFAULT_OPUS_MODEL',
  'ANTHROPIC_DEFAULT_SONNET_MODEL',
  'ANTHROPIC_DEFAULT_HAIKU_MODEL',
  'CLAUDE_CODE_SUBAGENT_MODEL',
]

/** The variables of OpenAI's SDKs, which many other clients read too. */
const openaiVariables = ({ url, secret }: ClientParts) => ({
  OPENAI_BASE_URL: `${url}/v1`,
  OPENAI_API_KEY: secret,
})

const table = {
  openai: { settings: (parts) => ({ variables: openaiVariables(parts) }) },
  anthropic: {
    // The SDKs read both and send the key in two headers; the AI SDK, LangChain and litellm read only the second.
    settings: ({ url, secret }) => ({
      variables: { ANTHROPIC_BASE_URL: url, ANTHROPIC_AUTH_TOKEN: secret, ANTHROPIC_API_KEY: secret },
    }),
  },
  'claude-code': {
    operation: 'messages',
    settings: ({ url, secret, model }) => ({
      variables: {
        ANTHROPIC_BASE_URL: url,
        ANTHROPIC_AUTH_TOKEN: secret,
        ...(model !== undefined && Object.fromEntries(MODEL_VARIABLES.map((name) => [name, model]))),
      },
    }),
  },
  gemini: {
    // Google's SDKs for Python and JavaScript read both. They also read GOOGLE_API_KEY, and warn if both keys are set.
    settings: ({ url, secret }) => ({
      variables: { GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: secret },
    }),
  },
  codex: {
    operation: 'responses',
    needsModel: true,
    settings: ({ url, secret, model = MODEL_PLACEHOLDER }) => ({
      variables: { [KEY_VARIABLE]: secret },
      file: {
        path: '~/.codex/config.toml',
        content: [
          `model = ${JSON.stringify(model)}`,
          'model_provider = "gateway"',
          '',
          '[model_providers.gateway]',
          'name = "Gateway"',
          `base_url = ${JSON.stringify(`${url}/v1`)}`,
          `env_key = "${KEY_VARIABLE}"`,
          'wire_api = "responses"',
        ].join('\n'),
      },
    }),
  },
  opencode: {
    operation: 'chat',
    needsModel: true,
    settings: ({ url, secret, model = MODEL_PLACEHOLDER }) => ({
      variables: { [KEY_VARIABLE]: secret },
      file: {
        path: 'opencode.json',
        content: JSON.stringify(
          {
            $schema: 'https://opencode.ai/config.json',
            model: `gateway/${model}`,
            provider: {
              gateway: {
                npm: '@ai-sdk/openai-compatible',
                name: 'Gateway',
                options: { baseURL: `${url}/v1`, apiKey: `{env:${KEY_VARIABLE}}` },
                models: { [model]: {} },
              },
            },
          },
          null,
          2,
        ),
      },
    }),
  },
  continue: {
    operation: 'chat',
    needsModel: true,
    settings: ({ url, secret, model = MODEL_PLACEHOLDER }) => ({
      variables: {},
      file: {
        path: '~/.continue/config.yaml',
        content: [
          'name: Gateway',
          'version: 0.0.1',
          'schema: v1',
          'models:',
          `  - name: ${JSON.stringify(model)}`,
          '    provider: openai',
          `    model: ${JSON.stringify(model)}`,
          `    apiBase: ${JSON.stringify(`${url}/v1`)}`,
          `    apiKey: ${JSON.stringify(secret)}`,
        ].join('\n'),
      },
    }),
  },
  'open-webui': {
    // It offers every model of the list, and appends /models to the URL, so the list is filtered by a header. Its first start
    // stores these settings; later ones are changed under Admin Settings, Connections.
    settings: ({ url, secret }) => ({
      variables: {
        OPENAI_API_BASE_URL: `${url}/v1`,
        OPENAI_API_KEY: secret,
        OPENAI_API_CONFIGS: JSON.stringify({ 0: { headers: { 'X-Gateway-Mode': 'chat' } } }),
      },
    }),
  },
  langchain: {
    // The package for Python reads the first, that for JavaScript the second.
    settings: (parts) => ({ variables: { OPENAI_API_BASE: `${parts.url}/v1`, ...openaiVariables(parts) } }),
  },
  'ai-sdk': { settings: (parts) => ({ variables: openaiVariables(parts) }) },
  n8n: {
    settings: ({ url, secret }) => ({
      variables: {},
      steps: [
        'In n8n, create a credential of type "OpenAI" with these values:',
        `  API Key   ${secret}`,
        `  Base URL  ${url}/v1`,
        'In a node, choose the credential and enter the id of the model; its Responses API may be on or off.',
        'n8n itself was not run with them: tried was its client, @langchain/openai 1.4.4 of n8n 2.41.',
      ],
    }),
  },
  cursor: {
    settings: ({ url, secret }) => ({
      variables: {},
      steps: [
        'In Cursor, open Settings, Models, API Keys, and switch on:',
        `  OpenAI API Key            ${secret}`,
        `  Override OpenAI Base URL  ${url}/v1`,
        'Add the ids of your models under Models. Requests come from the servers of Cursor, so the address',
        'must be one that the internet reaches. Cursor is closed: these words were not tried with it.',
      ],
    }),
  },
  mcp: {
    settings: ({ url, secret }) => ({
      variables: {},
      command: `claude mcp add --transport http gateway ${quote('sh', `${url}/mcp`)} --header 'Authorization: Bearer ${secret}'`,
    }),
  },
  webhook: { settings: ({ secret }) => ({ variables: { GATEWAY_WEBHOOK_SECRET: secret } }) },
} as const satisfies Record<string, ClientRow>

export type ClientName = keyof typeof table
export const clients: Readonly<Record<ClientName, ClientRow>> = table
export const clientNames = Object.keys(table) as ClientName[]

export const shells = ['sh', 'fish', 'powershell'] as const
export type Shell = (typeof shells)[number]

/** A line that sets a variable for this shell and the programs started from it. */
export function assignment(shell: Shell, name: string, value: string): string {
  if (shell === 'fish') return `set -gx ${name} ${quote(shell, value)}`
  if (shell === 'powershell') return `$env:${name} = ${quote(shell, value)}`
  return `export ${name}=${quote(shell, value)}`
}

/** A value as one word of the shell. */
function quote(shell: Shell, value: string): string {
  if (shell === 'powershell') return `'${value.replaceAll("'", "''")}'`
  if (/^[\w./:@%+=,-]+$/.test(value)) return value
  if (shell === 'fish') return `'${value.replaceAll(/[\\']/g, (mark) => `\\${mark}`)}'`
  return `'${value.replaceAll("'", "'\\''")}'`
}
