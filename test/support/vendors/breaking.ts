// A vendor that takes a whole request and then breaks the connection in one of several ways, which no HTTP server does.

export type Break = 'reset' | 'close' | 'half an answer' | 'no answer'

interface BreakingVendor {
  url: string
  /** How the next connections end. */
  how: Break
  /** The number of completely received requests. */
  requests: number
}

/** Starts a vendor; `using` stops it. */
export function startBreakingVendor(): BreakingVendor & Disposable {
  const listener = Bun.listen<{ text: string }>({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      open(socket) {
        socket.data = { text: '' }
      },
      data(socket, bytes) {
        socket.data.text += bytes.toString('latin1')
        if (!isWhole(socket.data.text)) return
        vendor.requests++
        socket.data.text = ''
        if (vendor.how === 'reset') socket.terminate()
        if (vendor.how === 'close') socket.end()
        if (vendor.how === 'half an answer') {
          socket.write(
            'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"output":',
          )
          socket.flush()
          setTimeout(() => socket.terminate(), 20)
        }
      },
    },
  })
  const vendor: BreakingVendor & Disposable = {
    url: `http://127.0.0.1:${listener.port}`,
    how: 'reset',
    requests: 0,
    [Symbol.dispose]() {
      listener.stop(true)
    },
  }
  return vendor
}

function isWhole(text: string): boolean {
  const end = text.indexOf('\r\n\r\n')
  if (end === -1) return false
  const length = /^content-length: (\d+)/im.exec(text.slice(0, end))?.[1] ?? '0'
  return text.length - end - 4 >= Number(length)
}
