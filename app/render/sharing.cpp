#include "app/render/sharing.h"

#include <strings.h>
#include <unistd.h>

namespace convlens::render {

bool same_device(const DeviceIdentity& a, const DeviceIdentity& b) {
    if (a.uuid && b.uuid) return *a.uuid == *b.uuid;
    return !a.pci.empty() && strcasecmp(a.pci.c_str(), b.pci.c_str()) == 0;
}

FileDescriptor::~FileDescriptor() {
    if (fd_ >= 0) close(fd_);
}

}  // namespace convlens::render
