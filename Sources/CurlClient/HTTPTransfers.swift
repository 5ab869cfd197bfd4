import Reactor

/// The state isolated to the loop: the multi handle, from the first transfer until the client is closed or dropped.
actor HTTPTransfers {
  nonisolated let loop: EventLoop
  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
  private let configuration: HTTPClientConfiguration
  private var multi: CurlMulti?
  private var isClosed = false

  init(_ configuration: HTTPClientConfiguration, loop: EventLoop) {
    self.configuration = configuration
    self.loop = loop
  }

  isolated deinit {
    multi?.close()
  }

  func close() {
    isClosed = true
    multi?.close()
    multi = nil
  }

  /// The number of transfers, idle handles and watched sockets.
  var counts: (transfers: Int, idle: Int, sockets: Int) { multi?.counts ?? (0, 0, 0) }

  /// Performs the transfer. A caller on the loop's own thread enters directly; others pass through the loop's inbox
  /// once.
  nonisolated(nonsending) func perform(_ transfer: any CurlTransfer) async throws(HTTPClientError) {
    let failure: HTTPClientError? = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        onLoop { transfers in
          if transfer.begin(continuation) { transfers.start(transfer) }
        }
      }
    } onCancel: {
      onLoop { $0.end(transfer, transfer.cancelled) }
    }
    if let failure { throw failure }
  }

  private func start(_ transfer: any CurlTransfer) {
    guard !isClosed else {
      return transfer.settle(HTTPClientError(.closed, "\(transfer.name): the client was closed"))
    }
    if let multi { return multi.start(transfer) }
    do throws(HTTPClientError) {
      let multi = try CurlMulti(configuration, loop: loop)
      self.multi = multi
      multi.start(transfer)
    } catch {
      transfer.settle(error)
    }
  }

  private func end(_ transfer: any CurlTransfer, _ error: HTTPClientError) {
    if let multi { multi.end(transfer, error) } else { transfer.settle(error) }
  }

  private nonisolated func onLoop(_ body: @escaping @Sendable (isolated HTTPTransfers) -> Void) {
    if loop.isCurrent {
      assumeIsolated(body)
    } else {
      loop.execute { self.assumeIsolated(body) }
    }
  }
}
