// The other gateways of the comparison: how each is installed, started and called, and which features are enabled. It must never
// enable more in a peer than a plain proxy needs.

import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Child, freePort } from '../children'
import { BURST, vendorModel, WHOLE } from '../exchange'
import type { Target, TargetName } from '../targets'

interface Peer {
  name: Extract<TargetName, 'portkey' | 'litellm'>
  /** Name and version in the registry. */
  release: string
  switchedOn: string
  /** Programs that must already be installed. */
  needs: readonly string[]
  /** Installs the release into a folder, unless it already is. */
  install(folder: string): void
  start(folder: string, mockPort: number): Promise<Target>
}

/** Python reads thousands of files when it starts. */
const START_DEADLINE_MS = 120_000
const PORTKEY = '1.15.2'
const LITELLM = '1.106.2'
const LITELLM_KEY = 'sk-bench'

export const PEERS: readonly Peer[] = [
  {
    name: 'portkey',
    release: `Portkey ${PORTKEY}`,
    switchedOn: 'proxying only: no keys, no limits, nothing is stored',
    needs: ['node', 'npm'],
    install(folder) {
      if (existsSync(portkeyScript(folder))) return
      run(['npm', 'install', '--prefix', folder, '--no-save', `@portkey-ai/gateway@${PORTKEY}`])
    },
    async start(folder, mockPort) {
      const port = freePort()
      const command = ['node', portkeyScript(folder), `--port=${port}`, '--headless']
      const child = new Child({ name: 'portkey', command, directory: folder })
      const url = `http://127.0.0.1:${port}/`
      await child.ready(async () => (await fetch(url)).ok, { deadlineMs: START_DEADLINE_MS })
      const headers = {
        authorization: 'Bearer sk-mock',
        'x-portkey-provider': 'openai',
        'x-portkey-custom-host': `http://127.0.0.1:${mockPort}/v1`,
      }
      return { name: 'portkey', port, pid: child.pid, headers, model: vendorModel }
    },
  },
  {
    name: 'litellm',
    release: `LiteLLM ${LITELLM}`,
    switchedOn:
      'one key in its configuration, costs reckoned; no database, so no balances and nothing is stored',
    needs: ['python3'],
    install(folder) {
      if (existsSync(join(folder, 'bin', 'litellm'))) return
      run(['python3', '-m', 'venv', folder])
      run([join(folder, 'bin', 'pip'), 'install', '--quiet', `litellm[proxy]==${LITELLM}`])
    },
    async start(folder, mockPort) {
      const port = freePort()
      const configFile = join(folder, 'bench.yaml')
      writeFileSync(configFile, litellmConfig(mockPort))
      const child = new Child({
        name: 'litellm',
        command: [
          join(folder, 'bin', 'litellm'),
          ...['--config', configFile, '--host', '127.0.0.1', '--port', `${port}`],
        ],
        directory: folder,
        // It fetches no prices and sends nothing about this run to another host.
        environment: { LITELLM_LOCAL_MODEL_COST_MAP: 'True', LITELLM_TELEMETRY: 'False' },
      })
      const url = `http://127.0.0.1:${port}/health/liveliness`
      await child.ready(async () => (await fetch(url)).ok, { deadlineMs: START_DEADLINE_MS })
      const headers = { authorization: `Bearer ${LITELLM_KEY}` }
      return { name: 'litellm', port, pid: child.pid, headers, model: vendorModel }
    },
  },
]

/** The programs that a peer needs and that are not on the path. */
export function missingPrograms(peer: Peer): string[] {
  return peer.needs.filter((program) => Bun.which(program) === null)
}

function portkeyScript(folder: string): string {
  return join(folder, 'node_modules', '@portkey-ai', 'gateway', 'build', 'start-server.js')
}

/** JSON is YAML too. */
function litellmConfig(mockPort: number): string {
  const model = (answer: string) => ({
    model_name: vendorModel(answer),
    litellm_params: {
      model: `openai/${vendorModel(answer)}`,
      api_base: `http://127.0.0.1:${mockPort}/v1`,
      api_key: 'sk-mock',
    },
  })
  return JSON.stringify({
    model_list: [WHOLE, BURST].map(model),
    general_settings: { master_key: LITELLM_KEY },
  })
}

function run(command: string[]): void {
  const ended = Bun.spawnSync(command, { stdin: 'ignore', stdout: 'ignore', stderr: 'pipe' })
  if (!ended.success) throw new Error(`${command.slice(0, 3).join(' ')} failed:\n${ended.stderr}`)
}

export function folderOf(directory: string, peer: Peer): string {
  const folder = join(directory, peer.release.toLowerCase().replace(' ', '-'))
  mkdirSync(folder, { recursive: true })
  return folder
}
