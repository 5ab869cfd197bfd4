internal import CHiredis
import Reactor

// What hiredis calls. These are file-scope functions because a closure written inside isolated code would carry that
// isolation and trap when C calls it. All of them run on the loop's thread, inside a call of `RedisSocket` to hiredis.

extension RedisSocket {
  func installHooks(_ context: UnsafeMutablePointer<redisAsyncContext>) {
    let pointer = Unmanaged.passUnretained(self).toOpaque()
    context.pointee.data = pointer
    context.pointee.ev.data = pointer
    context.pointee.ev.addRead = socketAddRead
    context.pointee.ev.delRead = socketRemoveRead
    context.pointee.ev.addWrite = socketAddWrite
    context.pointee.ev.delWrite = socketRemoveWrite
    context.pointee.ev.cleanup = socketCleanUp
  }
}

private func socket(_ pointer: UnsafeMutableRawPointer?) -> RedisSocket? {
  guard let pointer else { return nil }
  return Unmanaged<RedisSocket>.fromOpaque(pointer).takeUnretainedValue()
}

private func socketAddRead(_ pointer: UnsafeMutableRawPointer?) {
  guard let socket = socket(pointer) else { return }
  socket.watch(socket.watched.union(.read))
}

private func socketRemoveRead(_ pointer: UnsafeMutableRawPointer?) {
  guard let socket = socket(pointer) else { return }
  socket.watch(socket.watched.subtracting(.read))
}

private func socketAddWrite(_ pointer: UnsafeMutableRawPointer?) {
  socket(pointer)?.wantsToWrite()
}

private func socketRemoveWrite(_ pointer: UnsafeMutableRawPointer?) {
  guard let socket = socket(pointer) else { return }
  socket.watch(socket.watched.subtracting(.write))
}

private func socketCleanUp(_ pointer: UnsafeMutableRawPointer?) {
  guard let socket = socket(pointer), let context = socket.context else { return }
  socket.contextIsGoing(context)
}

/// One command's reply; none, when the connection goes.
func replyArrived(
  _ context: UnsafeMutablePointer<redisAsyncContext>?, _ reply: UnsafeMutableRawPointer?,
  _ privateData: UnsafeMutableRawPointer?
) {
  guard let context, let privateData, let socket = socket(context.pointee.data) else { return }
  let retained = Unmanaged<RedisRequest>.fromOpaque(privateData)
  let request = retained.takeUnretainedValue()
  socket.countReply()
  if let reply {
    let reply = RedisReply(UnsafePointer(reply.assumingMemoryBound(to: redisReply.self)))
    if !request.isSettled { request.receive(reply) }
    if reply.isReadOnlyRefusal { socket.serverIsNoMaster() }
  } else {
    request.fail(socket.failure(for: request, context))
  }
  request.outstanding -= 1
  guard request.outstanding == 0 else { return }
  if let timer = request.timer { socket.loop.cancel(timer) }
  retained.release()
}
