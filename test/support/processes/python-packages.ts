// Packages from PyPI for tests, in virtual environments that stay in the user's cache folder between runs. Installing takes
// minutes, so it happens only with TEST_PYTHON=1; without that variable a test uses an environment only if an earlier run has made
// it.

import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { $ } from 'bun'

/** The folder of an environment, or why it is missing. */
export type Python = { folder: string; fault?: never } | { folder?: never; fault: string }

const MAX_INSTALL_MINUTES = 40

const cacheFolder = join(
  process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'),
  'unified-model-gateway-tests',
)

/** An environment with exactly these versions of packages. */
export async function pythonWith(
  name: string,
  packages: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<Python> {
  const folder = join(cacheFolder, `${name}-${Bun.hash(packages.join(' ')).toString(36)}`)
  if (existsSync(folder)) return { folder }
  if (process.env.TEST_PYTHON !== '1') return { fault: 'TEST_PYTHON=1 installs what it needs from PyPI' }
  const python = Bun.which('python3')
  if (!python) return { fault: 'there is no python3' }
  // Renamed when complete, so that an interrupted installation is never used.
  const unfinished = `${folder}.part`
  rmSync(unfinished, { recursive: true, force: true })
  mkdirSync(cacheFolder, { recursive: true })
  const seconds = String(MAX_INSTALL_MINUTES * 60)
  const install =
    await $`${python} -m venv ${unfinished} && timeout ${seconds} ${unfinished}/bin/python -m pip install -q ${packages}`
      .env({ ...process.env, ...environment })
      .quiet()
      .nothrow()
  if (install.exitCode !== 0) {
    rmSync(unfinished, { recursive: true, force: true })
    return { fault: `pip failed: ${install.stderr.toString().trim().split('\n').at(-1)}` }
  }
  renameSync(unfinished, folder)
  return { folder }
}

/** A Python with the package `cryptography`: that of this machine, or an environment; or why both are missing. */
export async function pythonWithCryptography(): Promise<
  { program: string; fault?: never } | { program?: never; fault: string }
> {
  const own = Bun.which('python3')
  if (own && Bun.spawnSync([own, '-c', 'import cryptography']).exitCode === 0) return { program: own }
  const { folder, fault } = await pythonWith('cryptography', ['cryptography==48.0.0'])
  return fault === undefined ? { program: join(folder, 'bin/python') } : { fault }
}

/** The name of a test, with the reason if it is skipped. */
export function named(name: string, { fault }: { fault?: string }): string {
  return fault === undefined ? name : `${name} (not tested: ${fault})`
}

/** The official SDKs that tests use: those of OpenAI and Anthropic for their types, the others for their calls. */
export function vendorPackages(): Promise<Python> {
  return pythonWith('sdks', [
    'openai==3.57.0',
    'anthropic==2.13.0',
    'dashscope==2.0.2',
    'byteplus-python-sdk-v2==3.0.63',
    'voyageai==0.5.0',
    'cohere==7.3.1',
  ])
}

/** xAI's SDK, for the messages of its gRPC API, whose fields have the names of the REST API. */
export function xaiPackage(): Promise<Python> {
  return pythonWith('xai', ['xai-sdk==1.21.0'])
}

/** Google's SDK alone, and other clients with the earlier version that they require. */
export function googlePackages(): Promise<[newest: Python, clients: Python]> {
  return Promise.all([
    pythonWith('google', ['google-genai==3.6.1']),
    pythonWith('google-clients', [
      'google-genai==2.34.0',
      'langchain-google-genai==4.4.3',
      'llama-index-llms-google-genai==0.11.3',
      'pydantic-ai-slim[google]==2.68.0',
    ]),
  ])
}

/** Runs a program of test/support that reads lines and writes a line of JSON for each. Returns its output. */
export async function runOverLines<Answer>(
  folder: string,
  program: string,
  lines: readonly string[],
): Promise<Answer[]> {
  const child = Bun.spawn([join(folder, 'bin/python'), join(import.meta.dir, program)], {
    stdin: new Response(`${lines.join('\n')}\n`),
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [output, errors] = await Promise.all([child.stdout.text(), child.stderr.text()])
  if ((await child.exited) !== 0) throw new Error(errors)
  return output
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
}
