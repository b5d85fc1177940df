// Memory for transient copies of secret bytes: overwritten before it goes back to the heap.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "secrets/secret_value.hpp"

namespace warder {

template <class T>
struct WipingAllocator {
  using value_type = T;
  WipingAllocator() = default;
  template <class U>
  WipingAllocator(const WipingAllocator<U>&) noexcept {}

  T* allocate(std::size_t n) { return std::allocator<T>{}.allocate(n); }
  void deallocate(T* at, std::size_t n) noexcept {
    wipe(reinterpret_cast<char*>(at), n * sizeof(T));
    std::allocator<T>{}.deallocate(at, n);
  }
  friend bool operator==(const WipingAllocator&, const WipingAllocator&) { return true; }
};

template <class T>
using WipedVector = std::vector<T, WipingAllocator<T>>;

// A std::string would keep short texts inside itself, where no allocator wipes them.
using WipedBytes = WipedVector<char>;

inline std::string_view as_view(const WipedBytes& bytes) { return {bytes.data(), bytes.size()}; }

}  // namespace warder
