// Tool calls as items of a response: each has the type, name and namespace of the caller's own tool, and exactly the
// arguments that the model wrote.

import { describe, expect, test } from 'bun:test'
import type { ToolOrigin } from '../../src/families/dialects/responses/tools'
import { emptyCall, fillCall } from '../../src/families/responses/calls'
import type { OutputItem } from '../../src/families/responses/response-object'
import { createRandom, seedOf } from '../support/random'

const seed = seedOf('RESPONSES_SEED')

function itemOf(origin: ToolOrigin, text: string): OutputItem {
  const item = { id: 'x_1', ...emptyCall(origin, 'call_1') }
  fillCall(origin, item, text)
  return item
}

const inputOf = (text: string) => itemOf({ kind: 'custom', name: 'exec' }, text).input

describe('a call of', () => {
  test.each([
    [
      'a function',
      { kind: 'function', name: 'f' },
      '{"a":1}',
      { type: 'function_call', call_id: 'call_1', name: 'f', arguments: '{"a":1}' },
    ],
    [
      'a function of a namespace',
      { kind: 'function', name: 'read.file', namespace: 'mcp/files' },
      '{}',
      {
        type: 'function_call',
        call_id: 'call_1',
        name: 'read.file',
        namespace: 'mcp/files',
        arguments: '{}',
      },
    ],
    [
      'a custom tool',
      { kind: 'custom', name: 'apply_patch' },
      '{"input":"*** Begin Patch\\n*** End Patch"}',
      {
        type: 'custom_tool_call',
        call_id: 'call_1',
        name: 'apply_patch',
        input: '*** Begin Patch\n*** End Patch',
      },
    ],
    [
      'a custom tool of a namespace',
      { kind: 'custom', name: 'run', namespace: 'js' },
      '{"input":"1"}',
      { type: 'custom_tool_call', call_id: 'call_1', name: 'run', namespace: 'js', input: '1' },
    ],
    [
      'the tool search',
      { kind: 'tool_search', name: 'tool_search' },
      '{"query":"mail"}',
      { type: 'tool_search_call', call_id: 'call_1', execution: 'client', arguments: { query: 'mail' } },
    ],
    [
      'the local shell',
      { kind: 'local_shell', name: 'local_shell' },
      '{"command":["ls","-l"],"working_directory":"/tmp","timeout_ms":5}',
      {
        type: 'local_shell_call',
        call_id: 'call_1',
        action: { type: 'exec', command: ['ls', '-l'], env: {}, timeout_ms: 5, working_directory: '/tmp' },
      },
    ],
    [
      'the shell',
      { kind: 'shell', name: 'shell' },
      '{"action":{"commands":["ls","pwd"],"max_output_length":9}}',
      {
        type: 'shell_call',
        call_id: 'call_1',
        action: { commands: ['ls', 'pwd'], max_output_length: 9 },
        environment: { type: 'local' },
      },
    ],
    [
      'a patch',
      { kind: 'apply_patch', name: 'apply_patch' },
      '{"type":"update_file","path":"a.ts","diff":"@@"}',
      {
        type: 'apply_patch_call',
        call_id: 'call_1',
        operation: { type: 'update_file', path: 'a.ts', diff: '@@' },
      },
    ],
    [
      'a patch that deletes',
      { kind: 'apply_patch', name: 'apply_patch' },
      '{"operation":{"type":"delete_file","path":"a.ts","diff":""}}',
      { type: 'apply_patch_call', call_id: 'call_1', operation: { type: 'delete_file', path: 'a.ts' } },
    ],
  ] as const)('%s is an item of its own type', (_, origin, text, item) => {
    expect(itemOf(origin, text)).toEqual({ id: 'x_1', ...item } as unknown as OutputItem)
  })

  test.each(['', '{', '{"command', 'null', '[]', '5', '"ls"', `${'['.repeat(500)}`, '{"command":5}'])(
    'a shell call with the arguments %j runs nothing',
    (text) => {
      expect(itemOf({ kind: 'local_shell', name: 'local_shell' }, text).action).toMatchObject({ command: [] })
      expect(itemOf({ kind: 'shell', name: 'shell' }, text).action).toMatchObject({ commands: [] })
    },
  )

  test('a shell call whose command is one line is run by a shell', () => {
    expect(
      itemOf({ kind: 'local_shell', name: 'local_shell' }, '{"command":"ls | wc"}').action,
    ).toMatchObject({ command: ['bash', '-lc', 'ls | wc'] })
    expect(itemOf({ kind: 'shell', name: 'shell' }, '{"command":"ls"}').action).toMatchObject({
      commands: ['ls'],
    })
  })
})

describe('the input of a custom tool', () => {
  test.each([
    ['an object', '{"input":"a\\n\\"b\\""}', 'a\n"b"'],
    ['an object with white space', ' { "input" : "a" } \n', 'a'],
    ['another member name', '{"patch":"a"}', 'a'],
    ['more members', '{"input":"a","reason":"b"}', 'a'],
    ['a string', '"a\\tb"', 'a\tb'],
    ['the text itself', '*** Begin Patch\n*** End Patch', '*** Begin Patch\n*** End Patch'],
    ['a program without JSON', 'const {a} = {"input":"b"}', 'const {a} = {"input":"b"}'],
    ['nothing', '', ''],
    ['an empty object', '{}', ''],
    ['a nested object', '{"input":{"a":1}}', '{"a":1}'],
    ['a nested number', '{"input":5}', '5'],
    ['two members with other names', '{"a":"1","b":"2"}', '{"a":"1","b":"2"}'],
    ['line breaks that are not escaped', '{"input":"a\nb"}', 'a\nb'],
    ['quotes that are not escaped', '{"input":"say "hi" twice"}', 'say "hi" twice'],
    ['escapes that JSON does not know', '{"input":"\\d+ \\\'a\\\'\n"}', "d+ 'a'\n"],
    ['a backslash at its end', '{"input":"\n\\\\"}', '\n\\'],
    ['an escaped quote and a brace at its end, cut there', '{"input":"\n\\"}', '\n"}'],
    ['a cut text', '{"input":"a\\nb', 'a\nb'],
    ['a cut escape', '{"input":"a\\', 'a'],
    ['a cut Unicode escape', '{"input":"a\\u00e', 'a'],
    ['a cut name', '{"inp', ''],
    ['cut before the text', '{ "input": ', ''],
  ])('is found in %s', (_, text, input) => {
    expect(inputOf(text)).toBe(input)
  })

  test(`is complete, or a beginning of it if the arguments are cut (RESPONSES_SEED=${seed})`, () => {
    const random = createRandom(seed)
    const pieces = ['a', '\n', '"', '}', '\\', '世', '🎉', '{"input":"', '\u2028', ' ', '\\u12', '\t']
    for (let round = 0; round < 200; round++) {
      const input = Array.from({ length: random.below(12) }, () => random.pick(pieces)).join('')
      const plain = JSON.stringify({ input })
      const text = random.chance(0.5)
        ? plain
        : plain.replaceAll(/[^ -~]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`)
      expect(inputOf(text)).toBe(input)
      for (let end = 0; end < text.length; end++) {
        const cut = inputOf(text.slice(0, end)) as string
        if (!input.startsWith(cut)) throw new Error(`${text.slice(0, end)} became ${cut}`)
      }
    }
  })

  test('with a million backslashes or quotes is read without delay', () => {
    for (const letter of ['\\', '"', '"}', '\\u', ' "', '" }'])
      expect(inputOf(`{"input":"\n${letter.repeat(1_000_000)}`)).toBeString()
  })
})
