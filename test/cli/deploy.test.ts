// The files of deploy/: parsed by real parsers, and their commands, paths, ports and times compared with the program.

import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { version } from '../../package.json'
import { temporaryFolder } from '../support/databases/databases'
import { createCommandLine } from '../support/processes/command-line'
import type { Json } from '../support/scenario'

setDefaultTimeout(60_000)

const folder = join(import.meta.dir, '../../deploy')
const read = (name: string) => readFileSync(join(folder, name), 'utf8')
const { call } = createCommandLine(temporaryFolder())
const EXECUTABLE = '/usr/local/bin/gateway'
const DATA = '/var/lib/gateway'
const CONFIGURATION = '/etc/gateway'
/** Seconds that running requests have when a process stops. */
const DRAIN_SECONDS = 30

/** A configuration that a file of deploy/ carries must pass the check. */
async function expectSound(text: string): Promise<void> {
  const file = join(temporaryFolder(), 'gateway.config.json')
  writeFileSync(file, text)
  expect(await call(['config', 'check', '--config', file])).toMatchObject({ code: 0 })
}

/** The words after the program are a command that exists. */
async function expectCommand(words: readonly string[]): Promise<void> {
  const { code, stdout } = await call([...words, '--help'])
  expect({ words, code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining(words.join(' ')) })
}

describe('the systemd unit', () => {
  const unit = read('gateway.service')
  const valuesOf = (name: string) =>
    [...unit.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value]) => value ?? '')

  test('runs commands that exist, on the data and configuration of the system', async () => {
    for (const line of [...valuesOf('ExecStart'), ...valuesOf('ExecReload')]) {
      const [program, ...words] = line.split(' ')
      expect(program).toBe(EXECUTABLE)
      await expectCommand(words)
    }
    expect(valuesOf('Environment')).toEqual([`GATEWAY_DATA_DIR=${DATA}`])
    expect(valuesOf('StateDirectory')).toEqual(['gateway'])
    expect(valuesOf('WorkingDirectory')).toEqual([CONFIGURATION])
    expect(Number(valuesOf('TimeoutStopSec')[0])).toBeGreaterThan(DRAIN_SECONDS)
    // The engine compiles while it runs, and would not start.
    expect(valuesOf('MemoryDenyWriteExecute')).toEqual([])
  })

  test.skipIf(!Bun.which('systemd-analyze'))('is understood by systemd, and exposes little', async () => {
    const file = join(folder, 'gateway.service')
    const verified = Bun.spawnSync(['systemd-analyze', 'verify', file, join(folder, 'gateway.socket')])
    const remarks = verified.stderr
      .toString()
      .split('\n')
      .filter((line) => /gateway\.(service|socket)/.test(line))
    // The executable is not installed here.
    expect(remarks.filter((line) => !line.includes('is not executable'))).toEqual([])
    const judged = Bun.spawnSync(['systemd-analyze', 'security', '--offline=true', '--threshold=20', file])
    expect(judged.exitCode).toBe(0)
  })
})

test('the launchd agent runs serve, and has time to stop', async () => {
  const text = read('gateway.plist')
  const strings = [...text.matchAll(/<string>(.*?)<\/string>/g)].map(([, value]) => value)
  expect(strings.slice(1, 3)).toEqual([EXECUTABLE, 'serve'])
  expect(Number(/ExitTimeOut<\/key>\s*<integer>(\d+)/.exec(text)?.[1])).toBeGreaterThan(DRAIN_SECONDS)
  // Every element that is opened is closed.
  const open = [...text.matchAll(/<([a-z]+)>/g)].map(([, name]) => name).sort()
  expect([...text.matchAll(/<\/([a-z]+)>/g)].map(([, name]) => name).sort()).toEqual(
    [...open, 'plist'].sort(),
  )
})

test('the image runs without root, checks its health, and is built like this repository', async () => {
  const lines = read('Dockerfile')
    .replaceAll('\\\n', ' ')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => [line.split(' ', 1)[0] ?? '', line.slice(line.indexOf(' ') + 1)] as const)
  const known =
    'FROM WORKDIR COPY ARG RUN ENV USER VOLUME EXPOSE STOPSIGNAL HEALTHCHECK ENTRYPOINT CMD'.split(' ')
  expect(lines.filter(([instruction]) => !known.includes(instruction))).toEqual([])
  const last = (name: string) => lines.findLast(([instruction]) => instruction === name)?.[1] ?? ''
  expect(last('USER')).toBe('65532:65532')
  expect(JSON.parse(last('ENTRYPOINT'))).toEqual([EXECUTABLE])
  await expectCommand(JSON.parse(last('CMD')))
  const [program, ...words] = JSON.parse(last('HEALTHCHECK').replace(/^.*CMD /, ''))
  expect(program).toBe(EXECUTABLE)
  await expectCommand(words)
  expect(last('ENV')).toBe(`GATEWAY_DATA_DIR=${DATA} GATEWAY_HOST=0.0.0.0`)
  expect(last('WORKDIR')).toBe(CONFIGURATION)
  expect(lines[0]?.[1]).toBe(`oven/bun:${Bun.version} AS build`)
})

test('compose starts PostgreSQL and three nodes, which find the configuration and each other', async () => {
  const { services, configs, volumes } = Bun.YAML.parse(read('compose.yaml')) as Record<string, Json>
  const { gateway, postgres, proxy } = services as Record<string, Json>
  expect(gateway.deploy).toEqual({ replicas: 3 })
  expect(gateway.environment.GATEWAY_DATABASE_URL).toContain('@postgres/gateway')
  expect(postgres.environment).toMatchObject({ POSTGRES_USER: 'gateway', POSTGRES_DB: 'gateway' })
  await expectCommand(gateway.command)
  expect(gateway.volumes).toEqual([DATA])
  expect(gateway.configs[0].target).toBe(`${CONFIGURATION}/gateway.config.json`)
  await expectSound(configs.gateway.content)
  expect(configs.caddy.content).toContain('dynamic a gateway 8080')
  expect(proxy.ports).toEqual(['8080:8080'])
  for (const used of [gateway, proxy])
    for (const { source } of used.configs) expect(configs).toHaveProperty(source)
  expect(postgres.volumes[0].split(':')[0]).toBe(Object.keys(volumes)[0])
  expect(Number.parseInt(gateway.stop_grace_period, 10)).toBeGreaterThan(DRAIN_SECONDS)
})

test('the manifest probes existing paths, and mounts the paths that the image uses', async () => {
  const documents = Bun.YAML.parse(read('kubernetes.yaml')) as Json[]
  const of = (kind: string) => documents.find((document) => document.kind === kind) as Json
  const pod = of('Deployment').spec.template.spec
  const [container] = pod.containers
  const { startupProbe, livenessProbe, readinessProbe, args, ports, volumeMounts, lifecycle, image } =
    container
  expect([startupProbe, livenessProbe, readinessProbe].map(({ httpGet }: Json) => httpGet)).toEqual(
    ['/health/live', '/health/live', '/health/ready'].map((path) => ({ path, port: ports[0].name })),
  )
  await expectCommand(args)
  expect(ports[0].containerPort).toBe(8080)
  expect(image).toBe(`gateway:${version}`)
  const mounts = new Map(volumeMounts.map(({ name, mountPath }: Json) => [name, mountPath]))
  expect(mounts.get('config')).toBe(CONFIGURATION)
  expect(mounts.get('data')).toBe(DATA)
  expect(pod.volumes.map(({ name }: Json) => name).sort()).toEqual([...mounts.keys()].sort())
  expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(DRAIN_SECONDS + lifecycle.preStop.sleep.seconds)
  await expectSound(of('ConfigMap').data['gateway.config.json'])
  for (const selector of [of('Service').spec.selector, of('PodDisruptionBudget').spec.selector.matchLabels])
    expect(of('Deployment').spec.template.metadata.labels).toEqual(selector)
  expect(of('Service').spec.ports[0].targetPort).toBe(ports[0].name)
})
