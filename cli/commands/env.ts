// gateway env: prints the settings that make a client use this gateway, ready to paste: variables for a shell, or a
// command. Only lines to paste go to standard output, so that `eval` can read them. It must never print a secret that
// it was not given.

import { defineCommand } from 'citty'
import { isSecret } from '../../src/accounts/keys'
import type { Config } from '../../src/config/schema'
import { listModels, noModel } from '../lib/catalogue'
import { WrongUsage } from '../lib/errors'
import { commandArgs, loadConfig, type SettingsFlags } from '../lib/settings'
import { parseWord } from '../lib/values'
import { commandLineOf } from '../program'
import { print, printJson, say } from '../view/output'

const clients = ['openai', 'anthropic', 'claude-code', 'mcp', 'webhook'] as const
type Client = (typeof clients)[number]
const shells = ['sh', 'fish', 'powershell'] as const
type Shell = (typeof shells)[number]

const KEY_PLACEHOLDER = 'sk-YOUR-KEY'
const WEBHOOK_PLACEHOLDER = 'whsec_YOUR-SECRET'
const DEFAULT_HOST = '127.0.0.1'
const DEFAULT_PORT = 8080

export const env = defineCommand({
  meta: {
    name: 'env',
    description:
      'Print the settings that make a client use this gateway: variables for openai, anthropic, claude-code or webhook, or a command for mcp.',
    examples: [
      'gateway env openai --key sk-…',
      'gateway env claude-code --model claude-sonnet-5-5 --shell fish',
      'gateway env mcp --url https://ai.example.com',
      `gateway env openai --json | jq -r .variables.OPENAI_BASE_URL`,
    ],
  },
  args: {
    client: { type: 'positional', required: true, description: `The client: ${clients.join(', ')}` },
    key: {
      type: 'string',
      valueHint: 'SECRET',
      description: 'The secret of the key, or of its webhooks for webhook (default: a placeholder)',
    },
    model: {
      type: 'string',
      valueHint: 'ID',
      description: 'The model that claude-code uses for everything (default: its own names, see aliases)',
    },
    shell: {
      type: 'string',
      valueHint: 'NAME',
      description: `The shell: ${shells.join(', ')} (default: powershell on Windows, else sh)`,
    },
    url: {
      type: 'string',
      valueHint: 'URL',
      description: 'Address of the gateway (default: server.publicUrl, else its host and port)',
    },
    ...commandArgs,
  },
  async run({ args }) {
    const client = clientOf(args.client)
    const shell = args.shell === undefined ? ownShell() : parseWord('shell', args.shell, shells)
    const secret = secretOf(client, args.key)
    const { config } = await loadConfig(args)
    if (args.model !== undefined) requireMessagesModel(client, args.model, config, args)
    const url = args.url === undefined ? addressOf(config, process.env) : parseUrl(args.url)
    const variables = variablesOf(client, { url, secret, model: args.model })
    const command = client === 'mcp' ? toolsCommand(url, secret) : null
    if (args.json) return printJson({ client, url, variables, command })
    for (const [name, value] of Object.entries(variables)) print(assignment(shell, name, value))
    if (command !== null) print(command)
    for (const line of hints(client, args)) say(line)
  },
})

/** The variables that each client reads. The base URL ends with /v1 only for clients that do not add it themselves. */
function variablesOf(
  client: Client,
  { url, secret, model }: { url: string; secret: string; model: string | undefined },
): Record<string, string> {
  const own: Record<Client, Record<string, string>> = {
    openai: { OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: secret },
    anthropic: { ANTHROPIC_BASE_URL: url, ANTHROPIC_AUTH_TOKEN: secret },
    'claude-code': {
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_AUTH_TOKEN: secret,
      ...(model !== undefined && Object.fromEntries(MODEL_VARIABLES.map((name) => [name, model]))),
    },
    mcp: {},
    webhook: { GATEWAY_WEBHOOK_SECRET: secret },
  }
  return own[client]
}

/** All model variables of Claude Code. Without them small background calls would go to a model of another name. */
const MODEL_VARIABLES = [
  'ANTHROPIC_MODEL',
  'ANTHROPIC_DEFAULT_OPUS_MODEL',
  'ANTHROPIC_DEFAULT_SONNET_MODEL',
  'ANTHROPIC_DEFAULT_HAIKU_MODEL',
  'CLAUDE_CODE_SUBAGENT_MODEL',
]

function toolsCommand(url: string, secret: string): string {
  return `claude mcp add --transport http gateway ${quote('sh', `${url}/mcp`)} --header 'Authorization: Bearer ${secret}'`
}

function hints(client: Client, args: SettingsFlags & { key?: string | undefined }): string[] {
  const isWebhook = client === 'webhook'
  const check =
    'Verify each webhook with it: headers webhook-id, webhook-timestamp and webhook-signature (Standard Webhooks).'
  if (args.key !== undefined) return isWebhook ? [check] : []
  if (isWebhook) {
    return [
      `\nReplace ${WEBHOOK_PLACEHOLDER} with the webhook secret of your key. It was shown when the key was made`,
      `and is not shown again. A new one: ${commandLineOf('keys roll-webhook NAME', args)}`,
      check,
    ]
  }
  return [
    `\nReplace ${KEY_PLACEHOLDER} with the secret of your key. It was shown when the key was made and is not`,
    `shown again. A new key: ${commandLineOf('keys create NAME --balance 5', args)}`,
    `A new secret for a key: ${commandLineOf('keys roll NAME', args)}`,
  ]
}

function clientOf(word: string): Client {
  const client = clients.find((candidate) => candidate === word)
  if (!client) throw new WrongUsage(`CLIENT is one of ${clients.join(', ')}, not "${word}".`)
  return client
}

/** The secret to print. A secret that was cut when it was copied is refused here, rather than later by a 401. */
function secretOf(client: Client, text: string | undefined): string {
  if (client === 'webhook') {
    if (text === undefined) return WEBHOOK_PLACEHOLDER
    if (/^whsec_[A-Za-z0-9+/]{20,}={0,2}$/.test(text)) return text
    throw new WrongUsage('--key takes a webhook secret here, which begins with whsec_.')
  }
  if (text === undefined) return KEY_PLACEHOLDER
  if (isSecret(text)) return text
  throw new WrongUsage(
    '--key takes a whole secret of this gateway, which begins with sk-; this one is cut, mistyped or from elsewhere.',
  )
}

function requireMessagesModel(client: Client, id: string, config: Config, flags: SettingsFlags): void {
  if (client !== 'claude-code')
    throw new WrongUsage('--model is for claude-code; other clients name a model in each request.')
  const serving = listModels(config, flags).filter(({ forms }) =>
    forms.some(({ family }) => family.operation === 'messages'),
  )
  if (serving.some(({ model }) => model.id === id) || isRouteTo(config, id, serving)) return
  throw noModel(config, [id], ' for messages')
}

function isRouteTo(config: Config, id: string, serving: ReturnType<typeof listModels>): boolean {
  const entry = config.models[id]
  return (
    entry !== undefined &&
    'route' in entry &&
    entry.route.some((target) => serving.some(({ model }) => model.id === target))
  )
}

/** The address for callers on this machine, unless the operator sets another one. */
export function addressOf({ server = {} }: Config, environment: Record<string, string | undefined>): string {
  if (server.publicUrl) return server.publicUrl.replace(/\/+$/, '')
  const host = environment.GATEWAY_HOST || server.host || DEFAULT_HOST
  const port = environment.GATEWAY_PORT || server.port || DEFAULT_PORT
  // A listening address for all interfaces is no address to call.
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`
}

function parseUrl(text: string): string {
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash)
    throw new WrongUsage(`--url takes an address such as https://ai.example.com, not "${text}".`)
  const address = text.replace(/\/+$/, '')
  if (address.endsWith('/v1'))
    throw new WrongUsage('--url takes the address without /v1, which is added where a client needs it.')
  return address
}

function ownShell(): Shell {
  return process.platform === 'win32' ? 'powershell' : 'sh'
}

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
