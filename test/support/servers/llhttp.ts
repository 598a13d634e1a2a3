// llhttp, the parser of Node.js, in strict mode, compiled by a published package: an independent judgment of where a response ends.
// It must never be made lenient.

const wasmBase64: string = require('undici/lib/llhttp/llhttp-wasm.js')

/** Result of llhttp for the bytes of a connection, up to the end of the first final response. */
export interface Reference {
  /** The number of bytes up to the response's end; undefined if it did not end. */
  end: number | undefined
  /** The response is complete once the connection closes. */
  endsByClose: boolean
  /** Why it was refused. */
  fault: string | undefined
  status: number
  body: string
  keepsAlive: boolean
}

interface Exports {
  memory: WebAssembly.Memory
  malloc(byteLength: number): number
  llhttp_alloc(type: number): number
  llhttp_free(parser: number): void
  llhttp_execute(parser: number, data: number, byteLength: number): number
  llhttp_finish(parser: number): number
  llhttp_get_error_pos(parser: number): number
  llhttp_get_error_reason(parser: number): number
  llhttp_should_keep_alive(parser: number): number
}

const RESPONSE = 2
const PAUSED = 21
const MAX_BYTES = 1024 * 1024

let status = 0
let body = ''
let isComplete = false
let keepsAlive = false

const pass = () => 0
const { exports } = new WebAssembly.Instance(new WebAssembly.Module(Buffer.from(wasmBase64, 'base64')), {
  env: {
    wasm_on_url: pass,
    wasm_on_status: pass,
    wasm_on_message_begin: pass,
    wasm_on_header_field: pass,
    wasm_on_header_value: pass,
    wasm_on_headers_complete(_parser: number, given: number) {
      status = given
      return 0
    },
    wasm_on_body(_parser: number, at: number, byteLength: number) {
      body += latin1(at, byteLength)
      return 0
    },
    wasm_on_message_complete(parser: number) {
      if (status < 200 && status !== 101) return 0
      isComplete = true
      keepsAlive = llhttp.llhttp_should_keep_alive(parser) === 1
      return PAUSED
    },
  },
})
const llhttp = exports as unknown as Exports
const input = llhttp.malloc(MAX_BYTES)

function latin1(at: number, byteLength: number): string {
  return Buffer.from(llhttp.memory.buffer, at, byteLength).toString('latin1')
}

/** Reads bytes that arrived in one piece on a connection that was then closed. */
export function readByLlhttp(bytes: Buffer): Reference {
  status = 0
  body = ''
  isComplete = false
  keepsAlive = false
  const parser = llhttp.llhttp_alloc(RESPONSE)
  new Uint8Array(llhttp.memory.buffer, input, MAX_BYTES).set(bytes)
  let code = llhttp.llhttp_execute(parser, input, bytes.length)
  const end = isComplete ? llhttp.llhttp_get_error_pos(parser) - input : undefined
  if (code === 0) code = llhttp.llhttp_finish(parser)
  const endsByClose = end === undefined && isComplete
  const fault = isComplete || code === 0 ? undefined : faultOf(parser)
  llhttp.llhttp_free(parser)
  return { end, endsByClose, fault, status, body, keepsAlive }
}

function faultOf(parser: number): string {
  const at = llhttp.llhttp_get_error_reason(parser)
  const memory = new Uint8Array(llhttp.memory.buffer)
  return latin1(at, memory.indexOf(0, at) - at)
}
