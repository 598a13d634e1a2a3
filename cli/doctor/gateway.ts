// The checks of `gateway doctor` on the gateway: configuration, database, upstreams, the running server, versions, log. It must
// never change anything, or call a vendor for anything that is billed.

import { createServer } from 'node:net'
import { inspectDatabase } from '../../src/app/world'
import { logFaults } from '../../src/config/log'
import type { Config } from '../../src/config/schema'
import { program, programText } from '../../src/db/schema/program'
import { SchemaRefused, verdictOn } from '../../src/db/schema/rules'
import { lineOf } from '../../src/lib/error-line'
import { withoutBrackets } from '../../src/lib/url-host'
import { baseUrlOf } from '../../src/upstreams/connection'
import { isMaskable } from '../../src/upstreams/key-mask'
import { upstreamKinds } from '../../src/upstreams/kinds'
import { keysOfUpstream } from '../../src/upstreams/secrets'
import type { UpstreamConfig } from '../../src/upstreams/settings'
import { type ListedModel, listModels, modelsByUpstream } from '../configuration/catalogue'
import { judgeConfig, nameOfConfig, nameOfDatabase, type SettingsFlags } from '../configuration/settings'
import { CommandFailed } from '../lib/errors'
import { tryUpstream } from '../lib/upstreams'
import { askHealth } from '../process/ask-health'
import { askServer } from '../process/control'
import type { Status } from '../process/control-channel'
import { callable, listeningAddress } from '../process/server-address'
import { counted } from '../view/counted'
import { judgeEngine } from './engine'
import { broken, type Finding, ok, warning } from './findings'
import type { OtherClock } from './machine'

const ASK_TIMEOUT_MS = 5_000
const KEY_NOT_MASKED = 'its key can be a word of an answer, so it is not masked in answers and logs'

interface Examined {
  finding: Finding
  /** Undefined if it has faults. */
  config: Config | undefined
  file: string | undefined
}

export async function examineConfiguration(flags: SettingsFlags): Promise<Examined> {
  const check = 'configuration'
  try {
    const { value, file, faults } = await judgeConfig(flags)
    if (faults.length > 0) {
      const found = `${nameOfConfig(file)}: ${faults[0]}${faults.length > 1 ? `, and ${faults.length - 1} more faults` : ''}`
      return {
        finding: broken(check, found, 'gateway config check lists all faults.'),
        config: undefined,
        file,
      }
    }
    return { finding: modelsFinding(value as Config, file, flags), config: value as Config, file }
  } catch (error) {
    const finding = broken(
      check,
      error instanceof CommandFailed ? error.message : lineOf(error),
      'Fix the file, or name another with --config.',
    )
    return { finding, config: undefined, file: undefined }
  }
}

function modelsFinding(config: Config, file: string | undefined, flags: SettingsFlags): Finding {
  const models = listModels(config, flags)
  const available = models.filter(({ reason }) => reason === null)
  const ended = available.filter(({ model: { retirement } }) => retirement && retirement.at <= Date.now())
  const usable = available.length - ended.length
  const found = `${nameOfConfig(file)}: ${usable} of ${models.length} models can be used${endedText(ended)}`
  if (usable > 0) return ok('configuration', found)
  const variables = modelsByUpstream(config).flatMap(({ variable }) => variable ?? [])
  return broken(
    'configuration',
    found,
    `Set the API key of a vendor: ${variables.slice(0, 3).join(', ')}${variables.length > 3 ? ' …' : ''}.`,
  )
}

function endedText(ended: readonly ListedModel[]): string {
  if (ended.length === 0) return ''
  return `; ${ended.map(({ model }) => model.id).join(', ')} ${ended.length === 1 ? 'has' : 'have'} ended at the vendor`
}

/** A finding for the database, one for the engine of a server, and the server's clock. */
export async function examineDatabase(
  config: Config,
  dataDir: string,
): Promise<{ findings: Finding[]; clock: OtherClock | undefined }> {
  const name = nameOfDatabase(config, dataDir)
  const at = performance.now()
  try {
    const state = await inspectDatabase(config, dataDir)
    const milliseconds = Math.round(performance.now() - at)
    if (!state) return { findings: [ok('database', `${name}: made at the first start`)], clock: undefined }
    const { schema, timeMs, engine } = state
    const clock =
      timeMs === undefined ? undefined : { name: 'the database', oursMs: Date.now(), theirsMs: timeMs }
    const verdict = verdictOn(state, 'upgrade')
    const change = verdict === 'upgrade' ? `; gateway upgrade brings it to ${program().schema}` : ''
    const answers = ok('database', `${name} answers in ${milliseconds} ms, schema ${schema}${change}`)
    return { findings: engine === undefined ? [answers] : [answers, judgeEngine(engine)], clock }
  } catch (error) {
    if (error instanceof SchemaRefused)
      return { findings: [broken('database', error.message, 'Nothing was changed.')], clock: undefined }
    const cure = config.database
      ? 'Start PostgreSQL, or correct the address and password in database or GATEWAY_DATABASE_URL.'
      : 'See who owns the file, and whether its disk works; gateway restore brings a backup back.'
    return { findings: [broken('database', `${name}: ${lineOf(error)}`, cure)], clock: undefined }
  }
}

/** A finding for each upstream that has a key. */
export function examineUpstreams(config: Config, flags: SettingsFlags): Promise<Finding[]> {
  const names = Object.keys(config.upstreams).filter((name) => flags.sandbox || hasKey(config, name))
  return Promise.all(
    names.map(async (name) => {
      const check = `upstream ${name}`
      const { state, reason, advice, duration_ms: durationMs } = await tryUpstream(config, name, flags)
      const found = [
        reason ?? `ready, in ${durationMs} ms`,
        isKeyShown(config, name) ? KEY_NOT_MASKED : undefined,
        adviceOn(config.upstreams[name]),
      ]
      if (state !== 'failed') return ok(check, found.filter(Boolean).join('; ').replaceAll('.; ', '; '))
      return broken(check, reason ?? 'cannot be used', advice ?? 'Try again later.')
    }),
  )
}

/** Advice of the vendor of an upstream about its address. */
function adviceOn(entry: UpstreamConfig | undefined): string | undefined {
  const kind = entry && upstreamKinds.get(entry.kind)
  return kind?.advice?.(baseUrlOf(kind, entry as UpstreamConfig))
}

/** The clock of the first vendor that reports the time. */
export async function clockOfVendor(config: Config, flags: SettingsFlags): Promise<OtherClock | undefined> {
  if (flags.sandbox) return undefined
  for (const [name, entry] of Object.entries(config.upstreams)) {
    if (!hasKey(config, name)) continue
    const address = entry.baseUrl ?? upstreamKinds.get(entry.kind)?.baseUrl
    const url = address === undefined ? null : URL.parse(address)
    if (!url) continue
    try {
      const { headers } = await fetch(url.origin, {
        method: 'HEAD',
        redirect: 'manual',
        signal: AbortSignal.timeout(ASK_TIMEOUT_MS),
      })
      const theirsMs = Date.parse(headers.get('date') ?? '')
      if (!Number.isNaN(theirsMs)) return { name: url.host, oursMs: Date.now(), theirsMs }
    } catch {
      // The finding of the upstream says why.
    }
  }
  return undefined
}

/** Whether the upstream has a key that answers may show. */
function isKeyShown(config: Config, name: string): boolean {
  const keys = keysOf(config, name) ?? []
  return keys.some((key) => key !== null && !isMaskable(key.trim()))
}

function hasKey(config: Config, name: string): boolean {
  return keysOf(config, name) !== undefined
}

function keysOf(config: Config, name: string): readonly (string | null)[] | undefined {
  const entry = config.upstreams[name]
  return entry && keysOfUpstream(upstreamKinds.get(entry.kind), entry)
}

/** The server that runs on the data directory, and whether it runs the installed program and the current configuration. */
export async function examineServer(config: Config | undefined, dataDir: string): Promise<Finding[]> {
  const status = await askServer(dataDir, 'GET /status')
  if (!status) return [await examinePort(config)]
  const { ok: isHealthy, url, answer } = await askHealth(callable(status.url), '/health')
  const server = isHealthy
    ? ok('server', `${status.url} answers, process ${status.pid}`)
    : broken('server', `${url}: ${answer}`, `See its log, and restart the process ${status.pid}.`)
  const versions =
    runningText(status) === programText()
      ? examineVersions()
      : warning(
          'versions',
          `gateway ${programText()} is installed, ${runningText(status)} is running`,
          'Restart the server.',
        )
  const compared = await askServer(dataDir, 'GET /config/changes')
  if (!compared || 'faults' in compared || compared.changes.length === 0) return [server, versions]
  const changes = counted(compared.changes.length, 'setting')
  const stale = warning(
    'reload',
    `the server runs another configuration than the file: ${changes}`,
    'gateway config diff shows them, gateway config reload puts them in force.',
  )
  return [server, versions, stale]
}

export function examineVersions(): Finding {
  return ok('versions', `gateway ${programText()}, ${platformText()}`)
}

function runningText({ version, commit = 'source', schemaVersion: schema }: Status): string {
  return programText({ version, commit, schema })
}

function platformText(): string {
  return `Bun ${Bun.version}, ${process.platform} ${process.arch}`
}

/** Whether the address is free, while no server runs. */
async function examinePort(config: Config | undefined): Promise<Finding> {
  const address = listeningAddress(config ?? {}, process.env)
  if (address.startsWith('unix:')) return ok('server', `not running; it will listen on ${address}`)
  const { hostname, port } = new URL(address)
  const { promise, resolve } = Promise.withResolvers<string | undefined>()
  const trial = createServer()
  trial.on('error', (error: { code?: string }) => resolve(error.code))
  trial.listen({ host: withoutBrackets(hostname), port: Number(port), exclusive: true }, () =>
    trial.close(() => resolve(undefined)),
  )
  const code = await promise
  if (code === undefined) return ok('server', `not running; ${address} is free`)
  const cure =
    code === 'EADDRINUSE'
      ? 'Stop the program that listens there, or choose another port with server.port.'
      : 'Choose another address with server.host and server.port.'
  return broken('server', `not running, and ${address} cannot be listened on (${code})`, cure)
}

/** Which lines are written, and how long rows of requests are kept. */
export function examineLog({ log = {} }: Config): Finding {
  const faults = logFaults(log)
  if (faults[0] !== undefined) return broken('log', faults[0], 'gateway config check lists all faults.')
  const { level = 'info', keep = '30d' } = log
  return ok(
    'log',
    `lines from level ${level} on standard error; rows of requests in the database for ${keep}`,
  )
}
